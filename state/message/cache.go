package message

import (
	"crypto/sha256"
	"sync"
)

// Cached is a Counter that caches the counts of another Counter by id and content. Use it with a
// real tokenizer. It holds between Size and twice Size messages, the most recently counted ones. It
// is safe for concurrent use if Counter is. Concurrent calls for a new message may count it twice.
type Cached struct {
	Counter Counter // nil means Estimate{}
	Size    int     // 0 means 4096

	mu       sync.Mutex
	now, old map[sum]int // old is the last now that was full
}

// sum is a hash of the id and content of a message.
type sum [16]byte

func sumOf(m Message) (s sum, err error) {
	data, err := m.MarshalJSON()
	if err != nil {
		return s, err
	}
	full := sha256.Sum256(data)
	return sum(full[:len(s)]), nil
}

// Count implements [Counter].
func (c *Cached) Count(m Message) (int, error) {
	key, err := sumOf(m)
	if err != nil {
		return 0, err
	}
	if n, ok := c.get(key); ok {
		return n, nil
	}
	counter := c.Counter
	if counter == nil {
		counter = Estimate{}
	}
	n, err := counter.Count(m)
	if err == nil {
		c.put(key, n)
	}
	return n, err
}

func (c *Cached) get(key sum) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.now[key]; ok {
		return n, true
	}
	n, ok := c.old[key]
	if ok {
		c.keep(key, n)
	}
	return n, ok
}

func (c *Cached) put(key sum, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(key, n)
}

func (c *Cached) keep(key sum, n int) {
	if len(c.now) >= or(c.Size, 4096) {
		c.now, c.old = nil, c.now
	}
	if c.now == nil {
		c.now = map[sum]int{}
	}
	c.now[key] = n
}
