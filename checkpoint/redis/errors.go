package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/brief"
)

// fate is the outcome of a command that failed.
type fate int

const (
	refused  fate = iota // not done, and asking again does not help
	unloaded             // not done: the server does not know the script
	notNow               // not done, but soon it may be
	lost                 // sent, and no reply came
)

// replies are the beginnings of error replies that do not mean "refused".
var replies = []struct {
	begins string
	fate   fate
	kind   error
	advice string
}{
	{"NOSCRIPT", unloaded, checkpoint.ErrUnavailable, "the server does not keep scripts"},
	{"OOM", refused, checkpoint.ErrFull, "raise maxmemory, or delete, prune or expire threads"},
	{"NOAUTH", refused, checkpoint.ErrUnavailable, "the server wants a password"},
	{"WRONGPASS", refused, checkpoint.ErrUnavailable, "the user or password is wrong"},
	{"NOPERM", refused, checkpoint.ErrUnavailable, noPermission},
	{"ERR The user executing the script", refused, checkpoint.ErrUnavailable, noPermission}, // Redis 7
	{"The user executing the script", refused, checkpoint.ErrUnavailable, noPermission},     // Redis 6
	{"ERR ACL failure in script", refused, checkpoint.ErrUnavailable, noPermission},         // Valkey
	{"WRONGTYPE", refused, checkpoint.ErrUnavailable, "the key belongs to another program; choose another Config.Prefix"},
	{"MISCONF Errors writing to the AOF file: No space left", refused, checkpoint.ErrFull, "the server's disk is full; free some of it"},
	{"MISCONF", refused, checkpoint.ErrUnavailable, "the server cannot save its data, see its log"},
	{"CROSSSLOT", refused, checkpoint.ErrUnavailable, "the server is a cluster, or a proxy of one; open it with a cluster client"},
	{"MOVED", refused, checkpoint.ErrUnavailable, "the server is part of a cluster; open it with a cluster client"},
	{"ASK", notNow, checkpoint.ErrUnavailable, "a slot of the cluster is moving"},
	{"READONLY", notNow, checkpoint.ErrUnavailable, "this is a replica; the client must follow the master"},
	{"LOADING", notNow, checkpoint.ErrUnavailable, "the server is still reading its data"},
	{"MASTERDOWN", notNow, checkpoint.ErrUnavailable, "the replica has lost its master"},
	{"CLUSTERDOWN", notNow, checkpoint.ErrUnavailable, "part of the cluster is down"},
	{"TRYAGAIN", notNow, checkpoint.ErrUnavailable, "a slot of the cluster is moving"},
	{"NOREPLICAS", notNow, checkpoint.ErrUnavailable, "too few replicas are connected for min-replicas-to-write"},
	{"ERR max number of clients", notNow, checkpoint.ErrUnavailable, "raise maxclients, or use fewer connections"},
	{"BUSY", notNow, checkpoint.ErrBusy, "another script blocks the server; see SCRIPT KILL"},
	{"UNBLOCKED", notNow, checkpoint.ErrUnavailable, "the server has changed its role"},
}

const noPermission = "the user may not run these commands; it needs @scripting, @hash, @sortedset, @keyspace and TIME on the store's keys"

// judge returns the meaning of an error of the client.
func judge(err error) (f fate, advice string, kind error) {
	var reply redis.Error
	switch {
	case errors.Is(err, redis.ErrClosed):
		return refused, "the client was closed", checkpoint.ErrClosed
	case errors.As(err, &reply):
		return judgeReply(reply.Error())
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return notNow, "all connections are in use; raise PoolSize", checkpoint.ErrUnavailable
	case isDial(err):
		return notNow, "is the server running, and the address right?", checkpoint.ErrUnavailable
	}
	return lost, "the connection was cut or timed out", checkpoint.ErrUnavailable
}

// fateOf is judge for a store's own client: one that follows a cluster meets MOVED only
// while the cluster changes.
func (s *Store) fateOf(err error) fate {
	if s.punctual && errors.Is(err, brief.ErrTimeout) {
		return notNow // the time was over before there was a connection
	}
	f, _, _ := judge(err)
	if s.pipelines.cluster != nil && f == refused && strings.HasPrefix(err.Error(), "MOVED") {
		return notNow
	}
	return f
}

// judgeReply knows the server's errors, also from inside of a script: there older
// servers put theirs into a sentence, after a dash or a colon.
func judgeReply(text string) (fate, string, error) {
	for _, r := range replies {
		if strings.HasPrefix(text, r.begins) || strings.Contains(text, "-"+r.begins+" ") || strings.Contains(text, ": "+r.begins+" ") {
			return r.fate, r.advice, r.kind
		}
	}
	return refused, "the server refused the command", checkpoint.ErrUnavailable
}

// isDial reports whether no connection was made, so that nothing was sent.
func isDial(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns)
}

// typed makes an error of the client one of package checkpoint's.
func (s *Store) typed(err error) error {
	f, advice, kind := judge(err)
	if f == lost {
		advice = fmt.Sprintf("%s: the connection was cut, or no reply came in time (Config.RetryFor is %v)", s.address, s.cfg.RetryFor)
	}
	return fmt.Errorf("%w: redis: %s (%w)", kind, advice, err)
}

// addressOf returns the address of a client's server, for errors.
func addressOf(client redis.UniversalClient) string {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().Addr
	case *redis.ClusterClient:
		return "the cluster at " + strings.Join(c.Options().Addrs, ", ")
	}
	return fmt.Sprintf("the servers of the %T", client)
}

// ended is the error of a call whose context ended. unknown means that a write was sent.
func ended(ctx context.Context, unknown bool, last error) error {
	err := brief.Ended(ctx)
	if unknown {
		err = fmt.Errorf("%w: redis: the context ended before a reply came: %w", checkpoint.ErrUnknownOutcome, err)
	} else {
		err = fmt.Errorf("redis: %w", err)
	}
	if last != nil {
		err = fmt.Errorf("%w (last: %w)", err, last)
	}
	return err
}
