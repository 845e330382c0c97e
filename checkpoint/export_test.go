package checkpoint

import (
	"fmt"
	"io"
	"maps"
)

// SystemKnowsNoProcesses reports whether this system cannot detect dead processes.
func SystemKnowsNoProcesses() bool { return thisProcess().start == "" }

// Each calls f with each value that is stored of a thread, and how to change it.
func (m *Memory) Each(thread string, f func(name string, data []byte, set func([]byte))) {
	t := m.threads[thread]
	chains := map[string]*memoryChain{"": &t.root}
	maps.Copy(chains, t.others)
	for ns, ch := range chains {
		for i := range ch.commits {
			f(fmt.Sprint("header ", ns, i), ch.commits[i].header, func(b []byte) { ch.commits[i].header = b })
		}
		for _, field := range ch.fields {
			for i := range field.bases {
				base := &field.bases[i]
				for n := range base.stored {
					f(fmt.Sprint("blob ", ns, field.name, base.base, n), base.get(n), func(b []byte) { base.set(n, b) })
				}
			}
		}
		for i := range ch.pending {
			f(fmt.Sprint("entry ", ns, i), ch.pending[i].Data, func(b []byte) { ch.pending[i].Data = b })
		}
	}
}

// Damage implements checkpointtest.Damager.
func (m *Memory) Damage(k Key, b Blob, change func([]byte) []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	ch := m.threads[k.Thread].chain(k.Namespace)
	if data := change(ch.base(b.Field, b.Base).get(b.Chunk)); data != nil {
		ch.add(&b, data)
	} else {
		ch.remove(b)
	}
	return nil
}

// SetRand sets the source of the nonces; nil is crypto/rand.
func (k *Keys) SetRand(r io.Reader) { k.rand = r }

// textSpot is the place for which Texts seals: a field of thread "t".
var textSpot = place(Key{Thread: "t"}, "field", 1, 0)

// Texts seals and unseals texts with a codec, as a chain and a sealed store do.
type Texts struct {
	codec Codec
	ring  *keyring
}

// NewTexts returns the Texts of a codec.
func NewTexts(c Codec) *Texts {
	t := &Texts{codec: c}
	if c.Keys != nil {
		t.ring = c.Keys.ring()
	}
	return t
}

// Seal turns a text into the bytes that a store gets.
func (t *Texts) Seal(text string) ([]byte, error) {
	data, _, err := t.codec.seal(textSpot, "", text)
	if err != nil || t.ring == nil {
		return data, err
	}
	enc, err := t.ring.encrypter("t")
	if err != nil {
		return nil, err
	}
	return enc.encrypt(textSpot, data)
}

// Unseal reverses Seal, except that it returns the text as JSON.
func (t *Texts) Unseal(data []byte) (_ []byte, err error) {
	if t.ring != nil {
		if data, err = t.ring.decrypt(textSpot, data); err != nil {
			return nil, err
		}
	}
	return unseal(textSpot, data)
}
