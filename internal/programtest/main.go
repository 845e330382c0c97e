package programtest

import (
	"os"
	"strings"
)

// Variable makes the program of the tests the command. It is an entry of an environment.
const Variable = "WEFT_TEST_AS_PROGRAM=1"

// Main runs the command if Variable is in the environment, and then ends this process. TestMain
// calls it first.
func Main(command func()) {
	if name, _, _ := strings.Cut(Variable, "="); os.Getenv(name) != "" {
		command()
		os.Exit(0)
	}
}
