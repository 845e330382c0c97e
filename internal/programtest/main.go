package programtest

import (
	"os"
	"strings"
)

// Variable is a setting that the environment of each process of the command must have.
const Variable = "WEFT_TEST_AS_PROGRAM=1"

// Main runs the command, and then ends this process, if Variable is set. TestMain calls it first.
func Main(command func()) {
	if name, _, _ := strings.Cut(Variable, "="); os.Getenv(name) != "" {
		command()
		os.Exit(0)
	}
}
