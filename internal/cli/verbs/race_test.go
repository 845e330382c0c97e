//go:build race

package verbs_test

import (
	"fmt"
	"os/exec"
)

// makeProgram builds the test's binary without the race detector: hundreds of processes
// that each begin with it take minutes, and what is looked for in them is another matter.
func makeProgram(to string) error {
	out, err := exec.Command("go", "test", "-c", "-race=false", "-o", to, ".").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
