package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/internal/brief"
)

// Memory returns the long-term memory under this prefix, for all threads and processes
// that share it. Its clock is the server's, its promises are those of the Store, and it
// lasts until the Store is closed.
//
// A namespace is three keys in one slot of a cluster, and a write to it one script. The
// list of namespaces is an index beside them in another slot, and a hint: a namespace
// enters it before its first item and leaves it when it is met to be empty. Nothing is
// narrowed by the server: a search reads all that is below its prefix. If the
// reply of a conditional deletion is lost, it may be reported as a conflict with version 0.
func (s *Store) Memory() memory.Store {
	return memory.Over(s.memories("m"))
}

// How long a process trusts that a namespace which it has put on the list is still there,
// and how long one stays that was found empty. Between the two lies what a write may take.
const (
	trustList = time.Hour
	keepList  = 2 * time.Hour
	maxListed = 10_000 // namespaces that a process remembers
	atOnce    = 16     // namespaces that are asked at once
)

func (s *Store) memories(room string) *memories {
	return &memories{Store: s, room: room, listed: map[string]time.Time{}}
}

// memories is a Store as a memory.Table.
type memories struct {
	*Store
	room   string // of the keys: m for memory, d for documents
	mu     sync.Mutex
	listed map[string]time.Time // when this process put a namespace on the list
}

var _ memory.Table = (*memories)(nil)

// memoryKey returns the first key of a namespace. No thread's key has a colon there.
func (m *memories) memoryKey(namespace string) string {
	return m.cfg.Prefix + ":" + m.room + ":{" + encode(namespace) + "}"
}

// listKey returns the key of the list of namespaces; encode never returns its name.
func (m *memories) listKey() string { return m.cfg.Prefix + ":" + m.room + ":{@}" }

// Write implements memory.Table.
func (m *memories) Write(ctx context.Context, w memory.Write) ([]memory.Item, error) {
	ns, args := memory.Encode(w.Namespace), []any{w.ID, ""}
	puts := false
	for _, c := range w.Changes {
		args = append(args, changeArgs(c)...)
		puts = puts || c.Value != nil
	}
	if size := sizeOf(args); size > m.cfg.MaxBytes {
		return nil, fmt.Errorf("%w: redis: the write has %d bytes, Config.MaxBytes is %d", memory.ErrTooLarge, size, m.cfg.MaxBytes)
	}
	reply, err := m.write(ctx, memoryWriteScript, m.memoryKey(ns), ns, puts, args)
	if err != nil {
		return nil, err
	}
	return readWritten(reply, w)
}

// write runs a script that writes to a namespace, which must be on the list if it puts something.
// The second of args is for write to set: whether the script refuses to begin an empty namespace.
// It does if this process has put the namespace on the list before: a failover may have lost that,
// with all that was in the namespace.
func (m *memories) write(ctx context.Context, sc *script, key, ns string, puts bool, args []any) (any, error) {
	ctx = brief.OneCall(ctx)
	if !puts {
		return m.call(ctx, sc, key, args)
	}
	before, err := m.list(ctx, ns)
	if err != nil {
		return nil, err
	}
	if before {
		args[1] = "1"
	}
	reply, err := m.call(ctx, sc, key, args)
	if reply != "L" || err != nil {
		return reply, err
	}
	m.mu.Lock()
	delete(m.listed, ns)
	m.mu.Unlock()
	if _, err := m.list(ctx, ns); err != nil {
		return nil, err
	}
	args[1] = ""
	return m.call(ctx, sc, key, args)
}

// changeArgs returns the words of a change.
func changeArgs(c memory.Change) []any {
	kind, wanted := "D", ""
	switch {
	case c.Touch:
		kind = "T"
	case c.Value != nil:
		kind = "P"
	}
	if c.If != nil {
		wanted = decimal(*c.If)
	}
	refresh := time.Duration(0)
	if c.Refresh {
		refresh = c.TTL
	}
	return []any{kind, c.Key, wanted, microseconds(c.TTL), microseconds(refresh), c.Value}
}

func microseconds(d time.Duration) string {
	return strconv.FormatInt(d.Round(time.Microsecond).Microseconds(), 10)
}

// readWritten reads the reply to a write.
func readWritten(reply any, w memory.Write) ([]memory.Item, error) {
	list, _ := reply.([]any)
	if len(list) > 1 && (list[0] == "C" || list[0] == "X") {
		return nil, refusedWrite(list, w)
	}
	if len(list) != len(w.Changes)+1 || list[0] != "K" {
		return nil, fmt.Errorf("%w: redis: a write of memory is answered by %.100v", checkpoint.ErrCorrupt, reply)
	}
	items := make([]memory.Item, len(w.Changes))
	for i, c := range w.Changes {
		text, _ := list[i+1].(string)
		if text == "" {
			continue
		}
		var err error
		if items[i], err = readMemory(w.Namespace, c.Key, text); err != nil {
			return nil, err
		}
		if head, _, _ := strings.Cut(text, "\n"); c.Value != nil && !strings.HasSuffix(head, " "+w.ID) {
			items[i].Version = 0 // see memory.Write.Plan
		}
	}
	return items, nil
}

// refusedWrite is the error of a reply that names the change which was refused.
func refusedWrite(list []any, w memory.Write) error {
	place, _ := list[1].(int64)
	c := w.Changes[min(int(place), len(w.Changes)-1)]
	if list[0] == "X" {
		return noRecord(w.Namespace, c.Key)
	}
	text, _ := list[len(list)-1].(string)
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil || c.If == nil {
		return fmt.Errorf("%w: redis: a write of memory is answered by %.100v", checkpoint.ErrCorrupt, list)
	}
	return &memory.ConflictError{Namespace: w.Namespace, Key: c.Key, Want: *c.If, Version: version}
}

func noRecord(namespace []string, key string) error {
	return fmt.Errorf("%w: redis: namespace %q, key %q: this is no record of memory", checkpoint.ErrCorrupt, namespace, key)
}

// readMemory reads a record; memory_common.lua describes its form.
func readMemory(namespace []string, key, text string) (memory.Item, error) {
	head, value, ok := strings.Cut(text, "\n")
	parts := strings.Split(head, " ")
	if !ok || len(parts) != 6 {
		return memory.Item{}, noRecord(namespace, key)
	}
	var n [5]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(parts[i], 10, 64); err != nil {
			return memory.Item{}, fmt.Errorf("%w (%w)", noRecord(namespace, key), err)
		}
	}
	item := memory.Item{
		Namespace: slices.Clone(namespace), Key: key, Value: []byte(value), Version: uint64(n[0]),
		Created: time.UnixMicro(n[1]).UTC(), Updated: time.UnixMicro(n[2]).UTC(), Refresh: time.Duration(n[4]) * time.Microsecond,
	}
	if n[3] != 0 {
		item.Expires = time.UnixMicro(n[3]).UTC()
	}
	return item, nil
}

// list puts a namespace on the list, unless this process did so not long before, as it reports.
func (m *memories) list(ctx context.Context, ns string) (before bool, err error) {
	m.mu.Lock()
	at, known := m.listed[ns]
	m.mu.Unlock()
	begin := time.Now()
	if known && begin.Sub(at) < trustList {
		return true, nil
	}
	if _, err := m.call(ctx, memoryListScript, m.listKey(), []any{ns}); err != nil {
		switch { // nothing was put yet, so no outcome of a put is unknown
		case brief.Ended(ctx) != nil:
			return false, fmt.Errorf("redis: the list of namespaces: %w", brief.Ended(ctx))
		case errors.Is(err, checkpoint.ErrUnknownOutcome):
			return false, fmt.Errorf("%w: redis: the list of namespaces: %v", checkpoint.ErrUnavailable, err)
		}
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.listed) >= maxListed {
		clear(m.listed)
	}
	m.listed[ns] = begin
	return false, nil
}

// Read implements memory.Table.
func (m *memories) Read(ctx context.Context, namespace []string, key string) (memory.Item, bool, error) {
	reply, err := m.call(ctx, memoryReadScript, m.memoryKey(memory.Encode(namespace)), []any{key})
	text, found := reply.(string)
	if err != nil || !found {
		return memory.Item{}, false, err
	}
	item, err := readMemory(namespace, key, text)
	return item, err == nil, err
}

// Scan implements memory.Table. It asks a few namespaces at once, and leaves out what
// comes after the first that has more.
func (m *memories) Scan(ctx context.Context, s memory.Scan) (rows []memory.Item, more bool, err error) {
	after := ""
	if s.After != (memory.Position{}) {
		begun := shelfOf(s.After.Namespace, s.After.Key)
		if err := begun.fill(ctx, m, s.Limit); err != nil || begun.more || len(begun.rows) > 0 {
			return begun.rows, true, err
		}
		after = s.After.Namespace
	}
	for size := 0; ; {
		one := brief.OneCall(ctx)
		names, others, err := m.names(one, s.Range, after, atOnce)
		if err != nil {
			return nil, false, err
		}
		shelves := make([]*memoryShelf, len(names))
		err = inParallel(len(names), func(i int) error {
			shelves[i] = shelfOf(names[i], "")
			return shelves[i].fill(one, m, s.Limit-len(rows))
		})
		if err != nil {
			return nil, false, err
		}
		for i, sh := range shelves {
			n := min(len(sh.rows), s.Limit-len(rows))
			rows, size = append(rows, sh.rows[:n]...), size+sh.size
			if n < len(sh.rows) || sh.more || size > memory.MaxPage {
				return rows, n < len(sh.rows) || sh.more || others || i < len(shelves)-1, nil
			}
			after = names[i]
		}
		if !others {
			return rows, false, nil
		}
		if len(rows) == s.Limit {
			return rows, true, nil
		}
	}
}

// memoryShelf is a namespace, as far as it was read.
type memoryShelf struct {
	name string
	from string // as ZRANGEBYLEX wants it
	rows []memory.Item
	size int
	more bool
}

func shelfOf(name, after string) *memoryShelf {
	if after == "" {
		return &memoryShelf{name: name, from: "-"}
	}
	return &memoryShelf{name: name, from: "(" + after}
}

// fill reads until there is a row, or no more.
func (sh *memoryShelf) fill(ctx context.Context, m *memories, limit int) error {
	for sh.more = true; sh.more && len(sh.rows) == 0; {
		reply, err := m.call(ctx, memoryScanScript, m.memoryKey(sh.name), []any{sh.from, max(limit, 1), memory.MaxPage})
		if err != nil {
			return err
		}
		list, _ := reply.([]any)
		if len(list) < 2 || len(list)%2 != 0 {
			return fmt.Errorf("%w: redis: a scan of memory is answered by %.100v", checkpoint.ErrCorrupt, reply)
		}
		last, _ := list[0].(string)
		sh.from, sh.more = "("+last, list[1] == int64(1)
		if err := sh.add(list[2:]); err != nil {
			return err
		}
	}
	return nil
}

// add reads keys and records in turns.
func (sh *memoryShelf) add(list []any) error {
	for i := 0; i < len(list); i += 2 {
		key, _ := list[i].(string)
		text, _ := list[i+1].(string)
		item, err := readMemory(memory.Decode(sh.name), key, text)
		if err != nil {
			return err
		}
		sh.rows, sh.size = append(sh.rows, item), sh.size+len(item.Value)
	}
	return nil
}

// names returns the next namespaces of the list, whether or not they hold anything.
func (m *memories) names(ctx context.Context, r memory.Range, after string, limit int) (names []string, more bool, err error) {
	from, until := "-", "+"
	if r.From != "" {
		from = "[" + r.From
	}
	if after != "" && after >= r.From {
		from = "(" + after
	}
	if r.Until != "" {
		until = "(" + r.Until
	}
	reply, err := m.ask(ctx, m.listKey(), "zrangebylex", m.listKey(), from, until, "limit", 0, limit)
	list, _ := reply.([]any)
	for _, v := range list {
		name, _ := v.(string)
		names = append(names, name)
	}
	return names, len(names) == limit, err
}

// Namespaces implements memory.Table. It takes those off the list that hold nothing.
func (m *memories) Namespaces(ctx context.Context, r memory.Range, after string, limit int) (list []string, more bool, err error) {
	for more = true; more && len(list) < limit; {
		var names []string
		one := brief.OneCall(ctx)
		if names, more, err = m.names(one, r, after, min(limit-len(list), 128)); err != nil || len(names) == 0 {
			return list, false, err
		}
		there := make([]bool, len(names))
		err = inParallel(len(names), func(i int) error {
			reply, err := m.call(one, memoryAnyScript, m.memoryKey(names[i]), nil)
			if there[i] = reply == int64(1); err == nil && !there[i] {
				_, err = m.call(one, memoryMendScript, m.listKey(), []any{names[i], int(keepList.Seconds())})
			}
			return err
		})
		if err != nil {
			return nil, false, err
		}
		for i, name := range names {
			if there[i] {
				list = append(list, name)
			}
		}
		after = names[len(names)-1]
	}
	return list, more, nil
}
