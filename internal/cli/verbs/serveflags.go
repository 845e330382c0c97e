package verbs

import (
	"cmp"
	"encoding/json"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/serve"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/server/queue"
)

// serveFlags are the flags of serve, dev and worker.
type serveFlags struct {
	listens         bool   // the command listens
	listen          string // HOST:PORT
	auth            serve.Auth
	insecure        bool
	hosts, origins  []string
	notify          string // the URL that gets notices; "" for none
	webhookHosts    []string
	privateWebhooks bool
	truncate        bool
	lease           time.Duration
	embedder        string
	studio          string
	studioBase      string
	workers         server.Workers
	log             string
	reload          bool
	demo            bool
}

// workFlags adds the flags of all three commands.
func (f *serveFlags) workFlags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.workers.Slots, "slots", 64, "how many runs run at once; 0 leaves all runs to other processes")
	cmd.Flags().DurationVar(&f.workers.Grace, "grace", 10*time.Second, "how long a node may go on when its run was cancelled")
	cmd.Flags().DurationVar(&f.workers.Drain, "drain", 25*time.Second, "how long a run may finish its step when the process stops")
	cmd.Flags().DurationVar(&f.lease, "lease", queue.DefaultLease, "how long a process keeps its runs without a sign of life; raise it for a store that stalls")
	cmd.Flags().StringVar(&f.notify, "notify", "", "URL that gets the reminders and escalations of open questions; set it for each process on the store (default only the log)")
	cmd.Flags().StringArrayVar(&f.webhookHosts, "webhook-host", nil, "HOST that webhooks may call, such as *.example.com; repeatable (default all public ones)")
	cmd.Flags().BoolVar(&f.privateWebhooks, "allow-private-webhooks", false, "let webhooks call this machine and private networks")
	cmd.Flags().StringVar(&f.log, "log", "info", "the least level of the lines on stderr: debug, info, warn or error")
}

// listenFlags adds the flags of the commands that listen.
func (f *serveFlags) listenFlags(cmd *cobra.Command) {
	f.workFlags(cmd)
	f.listens = true
	cmd.Flags().StringVar(&f.listen, "listen", defaultListen, "HOST:PORT to listen at; port 0 chooses one")
	cmd.Flags().StringVar(&f.auth.From, "auth", "", "keys:FILE with API keys, or jwt:FILE with the public key or secret of an issuer; env:NAME in place of FILE reads a variable")
	cmd.Flags().StringVar(&f.auth.Issuer, "auth-issuer", "", "the issuer that a token must have")
	cmd.Flags().StringVar(&f.auth.Audience, "auth-audience", "", "the audience that a token must have")
	cmd.Flags().BoolVar(&f.insecure, "insecure", false, "listen to other machines without --auth")
	cmd.Flags().StringArrayVar(&f.hosts, "host", nil, "NAME under which this machine may be called without --auth; repeatable (default names of this machine)")
	cmd.Flags().StringVar(&f.studio, "studio", cmp.Or(f.studio, studioOff), "pages below /studio/ for a browser: on, read (they change nothing) or off")
	cmd.Flags().StringVar(&f.studioBase, "studio-base", "/studio", "the PATH of these pages, such as /tools/weft/studio behind a proxy")
	cmd.Flags().Lookup("studio").NoOptDefVal = string(server.StudioOn)
	cmd.Flags().StringVar(&f.embedder, "embedder", "", "NAME under embedders of weft.yaml: the model by which the store API finds items by meaning")
	cmd.Flags().BoolVar(&f.truncate, "allow-truncate", false, "let clients on this machine remove all threads, for tests")
}

// storeTime is the time after which Redis and PostgreSQL give up a call. The lease must be shorter,
// see server.Config.Lease. It is the limit with every store, so that the flags of a process do not
// depend on its store.
const storeTime = 5 * time.Second

// check returns the error of flags that have no effect, or do not fit each other.
func (f *serveFlags) check() error {
	if err := f.checkWork(); err != nil || !f.listens {
		return err
	}
	if !slices.Contains(studios, f.studio) {
		return reports.Usage("use one of "+strings.Join(studios, ", "), "there is no studio %q", f.studio)
	}
	if !strings.HasPrefix(f.studioBase, "/") || strings.Trim(f.studioBase, "/") == "" {
		return reports.Usage("write --studio-base /tools/studio", "--studio-base must be a path (got %q)", f.studioBase)
	}
	if err := f.checkListen(); err != nil {
		return err
	}
	switch {
	case f.auth.From != "" && f.insecure:
		return reports.Usage("give one of them", "--auth authenticates callers, --insecure accepts all")
	case f.auth.From == "" && f.auth.Issuer+f.auth.Audience != "":
		return reports.Usage("name the key of the issuer with --auth jwt:FILE", "--auth-issuer and --auth-audience need --auth")
	}
	return nil
}

// checkWork returns the error of the flags of all commands.
func (f *serveFlags) checkWork() error {
	switch {
	case f.workers.Slots < 0:
		return reports.Usage("write --slots 0 to leave all runs to other processes", "--slots must not be negative (got %d)", f.workers.Slots)
	case f.workers.Grace <= 0:
		return reports.Usage("leave it out for 10s", "--grace must be more than 0 (got %v)", f.workers.Grace)
	case f.workers.Drain <= 0:
		return reports.Usage("leave it out for 25s", "--drain must be more than 0 (got %v)", f.workers.Drain)
	case f.lease < server.MinLease:
		return reports.Usage("leave it out for "+queue.DefaultLease.String(), "--lease must be at least %v (got %v)", server.MinLease, f.lease)
	case f.lease >= storeTime:
		return reports.Usage("write --lease 4s, or leave it out for "+queue.DefaultLease.String(),
			"--lease must be less than the %v after which a store gives up a call (got %v)", storeTime, f.lease)
	}
	for _, host := range f.webhookHosts {
		if !isHostPattern(host) {
			return reports.Usage("write --webhook-host hooks.example.com, or '*.example.com'",
				"--webhook-host must be the name of a host, without scheme and port (got %q)", host)
		}
	}
	if f.notify == "" {
		return nil
	}
	out := f.outbound()
	err := out.Check(f.notify)
	if err == nil {
		return nil
	}
	next := "write --notify https://example.com/notices; --webhook-host limits it too"
	if out.AllowPrivate = true; out.Check(f.notify) == nil {
		next = "let webhooks call private addresses with --allow-private-webhooks"
	}
	return reports.Usage(next, "--notify %.200q: %w", f.notify, err)
}

// outbound returns the limits of the addresses that webhooks may call.
func (f *serveFlags) outbound() server.Outbound {
	return server.Outbound{Hosts: f.webhookHosts, AllowPrivate: f.privateWebhooks}
}

// checkListen returns the error of an address that cannot be listened at, and of names that no
// request can have.
func (f *serveFlags) checkListen() error {
	_, port, err := net.SplitHostPort(f.listen)
	if err != nil {
		return reports.Usage("write --listen "+defaultListen, "--listen must be HOST:PORT (got %q)", f.listen)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return reports.Usage("write --listen "+defaultListen+", or port 0 for a free one", "the port of --listen must be from 0 to 65535 (got %q)", f.listen)
	}
	for _, host := range f.hosts {
		if strings.ContainsAny(host, "*?") || !isHostPattern(host) {
			return reports.Usage("write --host weft.internal", "--host must be the name of a host, without scheme and port (got %q)", host)
		}
	}
	for _, origin := range f.origins {
		if want := originOf(origin); want != origin {
			return reports.Usage("write --cors "+cmp.Or(want, "https://app.example.com, or '*'"), "--cors must be an origin as browsers send it: a scheme, a host and a port that is not the usual one (got %q)", origin)
		}
	}
	return nil
}

// isHostPattern reports whether a name of a host may match a pattern of path.Match.
func isHostPattern(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	_, err := path.Match(text, "")
	return text != "" && err == nil && !strings.ContainsAny(text, "/:@ \t")
}

// originOf returns the origin of a URL as browsers send it, and "" if it has none.
func originOf(text string) string {
	if text == "*" || text == "null" { // null is that of a local file
		return text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Hostname() == "" {
		return ""
	}
	host := strings.ToLower(u.Host)
	if usual, ok := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; ok {
		host = strings.TrimSuffix(host, usual)
	}
	return u.Scheme + "://" + host
}

// checkCallers returns the error of an address at which the callers are not known.
func (f *serveFlags) checkCallers(auth server.Auth) error {
	if !f.listens || auth.Authenticate != nil || f.insecure {
		return nil
	}
	if host, _, _ := net.SplitHostPort(f.listen); serve.IsLoopback(host) { // check has seen its error
		return nil
	}
	return reports.Usage("name keys with --auth keys:FILE, or accept every caller with --insecure", "other machines reach %s, and no caller would be authenticated", f.listen)
}

// config returns the settings of the server.
func (f *serveFlags) config(store checkpoint.Store) (c server.Config, err error) {
	c = server.Config{
		Store: store, AllowTruncate: f.truncate, Studio: server.Studio(strings.TrimPrefix(f.studio, studioOff)), StudioBase: f.studioBase, Version: version(), CORS: server.CORS{Origins: f.origins, PrivateNetwork: f.reload},
		Lease:    f.lease,
		Webhooks: server.Webhooks{Notify: f.notify, Outbound: f.outbound(), Secret: []byte(os.Getenv(secretVariable))},
	}
	if f.auth.From != "" {
		if c.Auth, err = f.auth.Open(); err != nil {
			return c, reports.Usage("write --auth keys:FILE or --auth jwt:FILE", "--auth: %w", err)
		}
	}
	if text := os.Getenv(defaultsVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &c.Defaults); err != nil {
			return c, reports.Usage("write an object with a config and a context for each graph", "$%s is not valid: %w", defaultsVariable, err)
		}
	}
	return c, nil
}
