package checkpoint

// SystemKnowsNoProcesses reports whether dead processes cannot be told from others here.
func SystemKnowsNoProcesses() bool { return thisProcess().start == "" }

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
