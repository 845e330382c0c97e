//go:build race

package programtest

import (
	"fmt"
	"os/exec"
)

// Copy builds the tests in the working directory without the race detector: many processes that
// each begin with it take minutes, and what is looked for in them is another matter.
func Copy(to string) error {
	if out, err := exec.Command("go", "test", "-c", "-race=false", "-o", to, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
