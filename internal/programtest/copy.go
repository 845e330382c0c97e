//go:build !race

package programtest

import (
	"errors"
	"io"
	"os"
)

// Copy makes a copy of the program of the tests. In its own folder go run could have built it, and
// then the command line prints go run commands.
func Copy(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := os.Open(self)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
