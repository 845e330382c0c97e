package memory

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// Table is the interface of a backend: it stores rows in order and writes them atomically. [Over]
// makes a Store of it, which checks, compares and sorts. A table need not know JSON. It does not
// return rows that have expired by its clock.
type Table interface {
	// Write makes changes to a namespace atomically. It returns a row for each change, the zero
	// Item for a deletion or for a touch of a missing row, or a *ConflictError. See [Write.Plan].
	Write(ctx context.Context, w Write) ([]Item, error)
	// Read returns an item, or false.
	Read(ctx context.Context, namespace []string, key string) (Item, bool, error)
	// Scan returns the next rows of a range, in ascending order of the encoded namespace
	// and of the key, in bytes. more is true if there may be others. A page may have fewer rows
	// than the limit, to bound its bytes, but only the last page is empty.
	Scan(ctx context.Context, s Scan) (rows []Item, more bool, err error)
	// Namespaces returns the next encoded namespaces of a range that have an item, in ascending
	// order of their bytes. after is the last namespace of the previous page.
	Namespaces(ctx context.Context, r Range, after string, limit int) (list []string, more bool, err error)
}

// Write is a change to one namespace.
type Write struct {
	Namespace []string
	// ID identifies this write. A table that repeats a request after a lost reply uses it to find
	// that the write was already made.
	ID      string
	Changes []Change
}

// Change is one row of a Write. Keys are different.
type Change struct {
	Key   string
	Value []byte // nil deletes, or touches
	// Words are the distinct words of the value, sorted, for a table that has an index of words.
	Words []string
	Options
	// Touch restarts the TTL of a row with Refresh and changes nothing else.
	Touch bool
}

// Range is a range of encoded namespaces: from From, and before Until, or to the last if Until is
// "".
type Range struct{ From, Until string }

// Scan asks for rows.
type Scan struct {
	Range
	After    Position // only rows after it; zero means from the first
	Limit    int
	Words    []string // rows without one of these words may be left out
	Contains []byte   // rows that do not contain this JSON, in the sense of jsonb's @>, may be left out
}

// Position is a place in the order of rows.
type Position struct{ Namespace, Key string } // the namespace is encoded

// MaxPage is about how many bytes of values a page of a Scan should have at most.
const MaxPage = 8 << 20

// Encode makes one text of a namespace, which sorts label by label.
func Encode(namespace []string) string { return strings.Join(namespace, "\x00") }

// Decode undoes Encode.
func Decode(encoded string) []string { return strings.Split(encoded, "\x00") }

// rangeOf returns what a prefix selects. Between "a" and what begins with "a\x00" nothing
// else sorts, and no label has a zero byte.
func rangeOf(prefix []string) Range {
	if len(prefix) == 0 {
		return Range{}
	}
	p := Encode(prefix)
	return Range{p, p + "\x01"}
}

// Has reports whether an encoded namespace is in the range.
func (r Range) Has(namespace string) bool {
	return namespace >= r.From && (r.Until == "" || namespace < r.Until)
}

// Stored is a row in a table. It may have expired.
type Stored struct {
	Item
	ID string // of the write that stored it
}

// Alive reports whether an item has not expired.
func (i Item) Alive(now time.Time) bool { return i.Expires.IsZero() || i.Expires.After(now) }

// Plan returns the rows after a write. current has the stored row of each change; a missing one is
// the zero Stored. The caller sets the versions of the new rows. It writes them unless done is
// true: then this write was made before, and the rows are those that are there now. A row of
// another write has Version 0 then, so that no caller takes its version for that of its own item.
func (w Write) Plan(now time.Time, current []Stored) (rows []Item, done bool, err error) {
	now = now.UTC().Truncate(time.Microsecond)
	rows = make([]Item, len(w.Changes))
	for i, c := range current {
		if c.Version != 0 && c.ID == w.ID {
			done = true
		}
		if !c.Alive(now) {
			current[i] = Stored{}
		}
	}
	for i, c := range w.Changes {
		old := current[i].Item
		switch {
		case done:
			if c.Value != nil || c.Touch {
				rows[i] = old
			}
			if c.Value != nil && current[i].ID != w.ID {
				rows[i].Version = 0
			}
		case c.If != nil && *c.If != old.Version:
			return nil, false, &ConflictError{Namespace: w.Namespace, Key: c.Key, Want: *c.If, Version: old.Version}
		case c.Touch:
			rows[i] = old.touched(now)
		case c.Value != nil:
			rows[i] = c.row(w.Namespace, now, old)
		}
	}
	return rows, done, nil
}

func (i Item) touched(now time.Time) Item {
	if i.Version != 0 && i.Refresh > 0 {
		i.Expires = now.Add(i.Refresh)
	}
	return i
}

// row is the new item of a change, yet without its version.
func (c Change) row(namespace []string, now time.Time, old Item) Item {
	row := Item{Namespace: namespace, Key: c.Key, Value: json.RawMessage(c.Value), Created: now, Updated: now}
	if old.Version != 0 {
		row.Created = old.Created
	}
	if c.TTL > 0 {
		row.Expires = now.Add(c.TTL.Round(time.Microsecond))
	}
	if c.Refresh {
		row.Refresh = c.TTL.Round(time.Microsecond)
	}
	return row
}
