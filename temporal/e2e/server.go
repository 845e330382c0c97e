package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	schema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"

	weft "github.com/weftrun/weft/temporal"
)

// Options are the settings of a Server.
type Options struct {
	// Address is IP:PORT; "" means a free port of 127.0.0.1.
	Address string
	// Namespace is made when the server starts; "" means default.
	Namespace string
	// File is a database of SQLite; "" means memory.
	File string
}

// Server is a Temporal server in this process.
type Server struct {
	// Address is where clients connect.
	Address   string
	Namespace string
	server    temporal.Server
}

const host = "127.0.0.1"

// Start starts a server. The caller must stop it.
func Start(o Options) (*Server, error) {
	s := &Server{Address: o.Address, Namespace: o.Namespace}
	if s.Namespace == "" {
		s.Namespace = "default"
	}
	ports, err := freePorts(8)
	if err != nil {
		return nil, err
	}
	bind := host
	if s.Address == "" {
		s.Address = net.JoinHostPort(host, strconv.Itoa(ports[0]))
	} else {
		h, p, err := net.SplitHostPort(s.Address)
		if err == nil && net.ParseIP(h) == nil {
			err = fmt.Errorf("%q is not an IP address", h)
		}
		if err != nil {
			return nil, fmt.Errorf("e2e: address must be IP:PORT (got %q): %w", s.Address, err)
		}
		if ports[0], err = strconv.Atoi(p); err != nil {
			return nil, fmt.Errorf("e2e: port must be a number (got %q)", p)
		}
		bind = h
	}
	cfg := configOf(ports, bind, o.File)
	if err := prepare(cfg, s.Namespace, o.File); err != nil {
		return nil, err
	}
	claims, err := authorization.GetClaimMapperFromConfig(&cfg.Global.Authorization, log.NewNoopLogger())
	if err != nil {
		return nil, fmt.Errorf("e2e: %w", err)
	}
	s.server, err = temporal.NewServer(
		temporal.WithConfig(cfg), temporal.ForServices(temporal.DefaultServices), temporal.WithLogger(log.NewNoopLogger()),
		temporal.WithStaticHosts(hosts(ports)),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			// The default of 20 a second makes each hop of a task 50 ms.
			dynamicconfig.TransferProcessorMaxPollRPS.Key(): constrained(200),
			dynamicconfig.TimerProcessorMaxPollRPS.Key():    constrained(200),
			// The default of a second is the least time of a retry, and so part of each recovery.
			dynamicconfig.TimerProcessorMaxTimeShift.Key():              constrained(100 * time.Millisecond),
			dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): constrained(true),
		}))
	if err != nil {
		return nil, fmt.Errorf("e2e: %w", err)
	}
	if err := s.server.Start(); err != nil {
		return nil, fmt.Errorf("e2e: %w", err)
	}
	return s, nil
}

// Stop stops the server.
func (s *Server) Stop() error { return s.server.Stop() }

func constrained(v any) []dynamicconfig.ConstrainedValue {
	return []dynamicconfig.ConstrainedValue{{Value: v}}
}

// services are those of a server, in the order of their ports.
var services = []primitives.ServiceName{primitives.FrontendService, primitives.HistoryService, primitives.MatchingService, primitives.WorkerService}

func hosts(ports []int) map[primitives.ServiceName]static.Hosts {
	all := map[primitives.ServiceName]static.Hosts{}
	for i, name := range services {
		all[name] = static.SingleLocalHost(net.JoinHostPort(host, strconv.Itoa(ports[i])))
	}
	return all
}

// configOf returns the configuration of a server with one shard.
func configOf(ports []int, bind, file string) *config.Config {
	db := config.SQL{PluginName: sqlite.PluginName, DatabaseName: file, ConnectAttributes: map[string]string{"mode": "rwc"}}
	if file == "" {
		db.DatabaseName = fmt.Sprintf("weft-%d-%d", os.Getpid(), time.Now().UnixNano())
		db.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
	}
	frontend := net.JoinHostPort(host, strconv.Itoa(ports[0]))
	disabled := config.ArchivalNamespaceDefaults{
		History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
		Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
	}
	cfg := &config.Config{
		Global: config.Global{
			Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: host},
			Metrics:    &metrics.Config{Prometheus: &metrics.PrometheusConfig{ListenAddress: net.JoinHostPort(host, strconv.Itoa(ports[4])), HandlerPath: "/metrics"}},
		},
		Persistence: config.Persistence{
			DefaultStore: sqlite.PluginName, VisibilityStore: sqlite.PluginName, NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{sqlite.PluginName: {SQL: &db}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{
				"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Archival:            config.Archival{History: config.HistoryArchival{State: "disabled"}, Visibility: config.VisibilityArchival{State: "disabled"}},
		NamespaceDefaults:   config.NamespaceDefaults{Archival: disabled},
		PublicClient:        config.PublicClient{HostPort: frontend},
		Services:            map[string]config.Service{},
	}
	for i, name := range services {
		rpc := config.RPC{GRPCPort: ports[i], BindOnLocalHost: true}
		if i == 0 {
			rpc.BindOnLocalHost, rpc.BindOnIP = false, bind
		}
		cfg.Services[string(name)] = config.Service{RPC: rpc}
	}
	return cfg
}

// prepare makes the database and the namespace, with the search attributes of a turn.
func prepare(cfg *config.Config, namespace, file string) error {
	db := cfg.Persistence.DataStores[sqlite.PluginName].SQL
	if file != "" {
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			if err := schema.SetupSchema(db); err != nil {
				return fmt.Errorf("e2e: %s: %w", file, err)
			}
		}
	}
	ns, err := schema.NewNamespaceConfig(cfg.ClusterMetadata.CurrentClusterName, namespace, false, map[string]enums.IndexedValueType{
		weft.GraphAttribute.GetName():       enums.INDEXED_VALUE_TYPE_KEYWORD,
		weft.StatusAttribute.GetName():      enums.INDEXED_VALUE_TYPE_KEYWORD,
		weft.OwnerAttribute.GetName():       enums.INDEXED_VALUE_TYPE_KEYWORD,
		weft.InterruptedAttribute.GetName(): enums.INDEXED_VALUE_TYPE_BOOL,
	})
	if err == nil {
		err = schema.CreateNamespaces(db, ns)
	}
	if err != nil {
		return fmt.Errorf("e2e: namespace %q: %w", namespace, err)
	}
	return nil
}

// freePorts returns ports of the local machine that are free.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, e := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if e != nil {
			return nil, fmt.Errorf("e2e: no free port: %w", e)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
