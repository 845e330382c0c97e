package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	longterm "github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/internal/validtext"
)

var (
	// ErrConfig is returned when an Engine is made without a Store.
	ErrConfig = errors.New("capabilities/memory: invalid configuration")
	// ErrForeign is returned for an item of the store that this package did not write. The item is
	// not changed.
	ErrForeign = errors.New("capabilities/memory: not a fact of this package")
)

// Limits of a fact and of a session.
const (
	MaxText    = 4096 // bytes of a fact; longer ones are cut
	MaxFacts   = 500  // facts of one session; the newest are stored
	MaxSources = 16   // sources of a fact; the newest are stored
)

// Fact is something to remember.
type Fact struct {
	Text    string   `json:"text"`
	Sources []Source `json:"sources"` // oldest first
}

// Source is where a fact comes from.
type Source struct {
	Session string    `json:"session"`
	Key     string    `json:"key"`               // session.Ended.Key
	Message string    `json:"message,omitempty"` // the message's ID
	At      time.Time `json:"at"`                // the time of the message
}

// Config configures an Engine.
type Config struct {
	// Store stores the facts. With a *memory.Index of checkpoint/memory whose Fields are "text",
	// Recall also finds facts by meaning.
	Store longterm.Store
	// Root is where the users are in the store; nil means "users".
	Root []string
	// Extract returns the facts of a session; nil is Statements. A source needs only its Message;
	// the engine sets the rest. It may be called again for a session that was offered before.
	Extract func(ctx context.Context, e session.Ended) ([]Fact, error)
	// Known is how many facts Bootstrap returns, the latest ones; 0 means 10, and the most is
	// longterm.MaxLimit.
	Known int
}

// Engine stores and recalls facts. It is safe for concurrent use, by any number of processes.
type Engine struct{ cfg Config }

var _ session.Engine = (*Engine)(nil)

// New returns an Engine, or an ErrConfig.
func New(cfg Config) (*Engine, error) {
	if cfg.Store == nil {
		return nil, fmt.Errorf("%w: Store must not be nil", ErrConfig)
	}
	if cfg.Root == nil {
		cfg.Root = []string{"users"}
	}
	if err := longterm.CheckNamespace(append(cfg.Root[:len(cfg.Root):len(cfg.Root)], "user")); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if cfg.Extract == nil {
		cfg.Extract = Statements
	}
	if cfg.Known < 0 || cfg.Known > longterm.MaxLimit {
		return nil, fmt.Errorf("%w: Known must be from 0 to %d (got %d)", ErrConfig, longterm.MaxLimit, cfg.Known)
	}
	cfg.Known = cmp.Or(cfg.Known, 10)
	return &Engine{cfg}, nil
}

// hashed is the prefix of the label of a user whose name is not a valid label.
const hashed = "sha256:"

// Namespace returns the namespace of a user's facts. A name that is not a valid label is hashed.
func (e *Engine) Namespace(user string) []string {
	ns := append(e.cfg.Root[:len(e.cfg.Root):len(e.cfg.Root)], user)
	if longterm.CheckNamespace(ns) != nil || strings.HasPrefix(user, hashed) { // a name must not equal the hash of another
		ns[len(ns)-1] = hashed + hash(user)
	}
	return ns
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// item is a value in the store: a fact, or a session that was taken.
type item struct {
	Kind string `json:"kind"`
	Fact
	Session *taken `json:"session,omitempty"`
}

type taken struct {
	ID    string    `json:"id"`
	Ended time.Time `json:"ended"`
	Facts int       `json:"facts"`
}

const (
	kindFact    = "fact"
	kindSession = "session"
)

// factKey is the same for texts of the same words.
func factKey(text string) string {
	return "f/" + hash(strings.Join(longterm.Words(text), " "))
}

// Offload implements session.Engine. It stores nothing of a session without a user.
func (e *Engine) Offload(ctx context.Context, s session.Ended) error {
	if s.User == "" {
		return nil
	}
	ns, mark := e.Namespace(s.User), "s/"+hash(s.Key)
	_, err := e.cfg.Store.Get(ctx, ns, mark)
	if !errors.Is(err, longterm.ErrNotFound) {
		return err // taken before, if nil
	}
	facts, err := e.cfg.Extract(ctx, s)
	if err != nil {
		return fmt.Errorf("capabilities/memory: session %q: %w", s.ID, err)
	}
	facts = tidy(facts, s)
	for {
		ops, err := e.ops(ctx, ns, facts)
		if err != nil {
			return err
		}
		value, err := json.Marshal(item{Kind: kindSession, Session: &taken{s.ID, s.Ended, len(facts)}})
		if err != nil {
			return err
		}
		ops = append(ops, longterm.Op{Key: mark, Value: value, Options: longterm.Options{If: new(uint64)}})
		_, err = e.cfg.Store.Batch(ctx, ns, ops)
		var conflict *longterm.ConflictError
		switch {
		case !errors.As(err, &conflict):
			return err
		case conflict.Key == mark:
			return nil // another process has taken it
		}
	}
}

// tidy returns facts that can be stored, each text once, with complete sources.
func tidy(facts []Fact, s session.Ended) (list []Fact) {
	said := map[string]time.Time{}
	for _, m := range s.Messages {
		said[m.ID] = m.Created
	}
	at := map[string]int{}
	for _, f := range facts {
		f.Text = clean(f.Text)
		if f.Text == "" {
			continue
		}
		if len(f.Sources) == 0 {
			f.Sources = []Source{{}}
		}
		own := make([]Source, len(f.Sources))
		for i, src := range f.Sources {
			own[i] = Source{Session: s.ID, Key: s.Key, Message: src.Message, At: s.Ended}
			if when := said[src.Message]; !when.IsZero() {
				own[i].At = when
			}
		}
		key := factKey(f.Text)
		if i, ok := at[key]; ok {
			list[i].Sources = append(list[i].Sources, own...)
			continue
		}
		at[key] = len(list)
		list = append(list, Fact{f.Text, own})
	}
	return list[max(0, len(list)-MaxFacts):]
}

// clean returns a text that every store accepts.
func clean(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	if text = strings.TrimSpace(text); len(text) > MaxText {
		text = strings.ToValidUTF8(text[:MaxText], "")
	}
	return text
}

// ops returns the changes that add facts to the existing ones.
func (e *Engine) ops(ctx context.Context, ns []string, facts []Fact) (ops []longterm.Op, err error) {
	for _, f := range facts {
		key, version := factKey(f.Text), uint64(0)
		was, err := e.cfg.Store.Get(ctx, ns, key)
		switch {
		case err == nil:
			known, err := read(was)
			if err != nil {
				return nil, err
			}
			f.Sources = append(known.Sources, f.Sources...)
			version = was.Version
		case !errors.Is(err, longterm.ErrNotFound):
			return nil, err
		}
		f.Sources = f.Sources[max(0, len(f.Sources)-MaxSources):]
		value, err := validtext.Marshal(item{Kind: kindFact, Fact: f})
		if err != nil {
			return nil, err
		}
		ops = append(ops, longterm.Op{Key: key, Value: value, Options: longterm.Options{If: &version}})
	}
	return ops, nil
}

// read returns the fact in an item.
func read(i longterm.Item) (Fact, error) {
	var it item
	if err := json.Unmarshal(i.Value, &it); err != nil || it.Kind != kindFact || it.Text == "" || len(it.Sources) == 0 {
		return Fact{}, fmt.Errorf("%w: namespace %q, key %q", ErrForeign, i.Namespace, i.Key)
	}
	return it.Fact, nil
}

// Forget removes everything stored about a user, including which sessions were taken.
func (e *Engine) Forget(ctx context.Context, user string) error {
	ns := e.Namespace(user)
	for found, err := range longterm.All(ctx, e.cfg.Store, longterm.Query{Prefix: ns}) {
		if err != nil {
			return err
		}
		if err := e.cfg.Store.Delete(ctx, found.Namespace, found.Key); err != nil {
			return err
		}
	}
	return nil
}
