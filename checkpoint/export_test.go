package checkpoint

import "fmt"

// SystemKnowsNoProcesses reports whether this system cannot detect dead processes.
func SystemKnowsNoProcesses() bool { return thisProcess().start == "" }

// Each calls f with each value that is stored of a thread, and how to change it.
func (m *Memory) Each(thread string, f func(name string, data []byte, set func([]byte))) {
	for ns, ch := range m.threads[thread].chains {
		for i := range ch.commits {
			f(fmt.Sprint("header ", ns, i), ch.commits[i].header, func(b []byte) { ch.commits[i].header = b })
		}
		for a, data := range ch.blobs {
			f(fmt.Sprint("blob ", ns, a), data, func(b []byte) { ch.blobs[a] = b })
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
	blobs := m.threads[k.Thread].chains[k.Namespace].blobs
	a := blobAddress{b.Field, b.Base, b.Chunk}
	if data := change(blobs[a]); data != nil {
		blobs[a] = data
	} else {
		delete(blobs, a)
	}
	return nil
}
