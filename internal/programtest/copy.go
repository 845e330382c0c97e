package programtest

import (
	"errors"
	"io"
	"os"
)

// Copy writes the program of the tests to a new file. From its own folder, which looks like one of
// go run, the command line would print go run commands.
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
