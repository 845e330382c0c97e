//go:build race

package programtest

import (
	"fmt"
	"os/exec"
)

// CopyUnraced builds the program of the tests, those in the working directory, into a new file. It
// does so without the race detector, with which many processes would take minutes to start.
func CopyUnraced(to string) error {
	if out, err := exec.Command("go", "test", "-c", "-race=false", "-o", to, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
