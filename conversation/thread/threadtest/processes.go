package threadtest

import (
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/racing"
)

// Opener opens the documents at an address, in any process. shut closes what it opened.
type Opener = racing.Open[document.Store]

// Worker is to be called at the beginning of TestMain. In a process that RunProcesses has started
// it does not return.
func Worker(open Opener) { race.Worker(open) }

// RunProcesses lets this process and another one write to one thread at once, and judges whether
// what both saw can be told as one story. The store at the address is empty or has no thread t1.
// TestMain has to call Worker.
func RunProcesses(t *testing.T, address string, open Opener) {
	race.Processes(t, address, open, func(docs document.Store) { begin(t, docs) })
}
