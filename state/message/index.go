package message

import (
	"hash/maphash"
	"math/bits"
)

// index finds the slots in which a message may be, by a hash of its id. It only holds hints: the
// slot may be empty or hold another message by now, so the caller compares the id. It does hold a
// hint for every message that was added to it.
//
// An index is a list of immutable tables, which versions of an index share. A new table merges the
// tables before it that are not larger. This bounds the number of tables, and the number of times
// that a hint is copied, by the logarithm of the number of hints.
type index []table

// table is a hash table with open addressing. At least half of its places are 0, which is no hint.
type table struct {
	used  int
	hints []hint
}

// hint is the hash of an id, and below it the slot plus 1.
type hint uint64

var idSeed = maphash.MakeSeed()

func hashOf(id string) uint32 { return uint32(maphash.String(idSeed, id)) }

func hintOf(hash uint32, slot int) hint { return hint(hash)<<32 | hint(slot+1) }

func (h hint) hash() uint32 { return uint32(h >> 32) }

func (h hint) slot() int { return int(uint32(h)) - 1 }

// with returns an index with more hints. It leaves out those of the tables it copies that keep
// returns false for; nil keeps all.
func (x index) with(hints []hint, keep func(hint) bool) index {
	first, n := len(x), len(hints)
	for ; first > 0 && x[first-1].used <= n; first-- {
		n += x[first-1].used
	}
	t := table{hints: make([]hint, 2<<bits.Len(uint(n)))}
	for _, old := range x[first:] {
		for _, h := range old.hints {
			if h != 0 && (keep == nil || keep(h)) {
				t.add(h)
			}
		}
	}
	for _, h := range hints {
		t.add(h)
	}
	return append(x[:first:first], t)
}

func (t *table) add(h hint) {
	mask := len(t.hints) - 1
	i := int(h.hash()) & mask
	for ; t.hints[i] != 0; i = (i + 1) & mask {
		if t.hints[i] == h {
			return
		}
	}
	t.hints[i] = h
	t.used++
}

// find calls is with the slots of a hash, until it returns true.
func (x index) find(hash uint32, is func(slot int) bool) (slot int, ok bool) {
	for at := len(x) - 1; at >= 0; at-- {
		hints := x[at].hints
		mask := len(hints) - 1
		for i := int(hash) & mask; hints[i] != 0; i = (i + 1) & mask {
			if h := hints[i]; h.hash() == hash && is(h.slot()) {
				return h.slot(), true
			}
		}
	}
	return 0, false
}
