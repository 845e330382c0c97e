package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
)

// envStore names the store when there is no --store.
const envStore = "WEFT_STORE"

// open opens the store that the command line, the environment or the default names.
func (a *app) open(ctx context.Context) (checkpoint.Store, error) {
	scheme, rest, err := a.address()
	if err != nil {
		return nil, err
	}
	opener, ok := a.openers()[scheme]
	if !ok {
		return nil, usage("use sqlite:PATH or memory:", "the store %q has an unknown scheme; known are %s",
			scheme+":"+rest, strings.Join(a.schemes(), ", "))
	}
	return opener(ctx, rest)
}

// openToRead is open for a command that starts nothing: a file that is not there is
// an empty store, and is not made.
func (a *app) openToRead(ctx context.Context) (checkpoint.Store, error) {
	scheme, rest, err := a.address()
	if err == nil && scheme == "sqlite" && rest != "" {
		if _, err := os.Stat(rest); errors.Is(err, fs.ErrNotExist) {
			return new(checkpoint.Memory), nil
		}
	}
	return a.open(ctx)
}

// address returns the two parts of the store's address.
func (a *app) address() (scheme, rest string, err error) {
	address := a.store
	if address == "" {
		address = os.Getenv(envStore)
	}
	if address == "" {
		path, err := defaultFile(runtime.GOOS, os.Getenv, os.UserHomeDir)
		return "sqlite", path, err
	}
	scheme, rest, ok := strings.Cut(address, ":")
	switch {
	case !ok:
		return "", "", usage("did you mean sqlite:"+address+"?", "the store %q has no scheme", address)
	case scheme == "sqlite" && rest == "":
		return "", "", usage("name it: sqlite:PATH", "the store %q names no file", address)
	}
	return scheme, rest, nil
}

// forgets reports whether the store ends with the process.
func (a *app) forgets() bool {
	scheme, _, err := a.address()
	return err == nil && scheme == "memory"
}

func (a *app) openers() map[string]Opener {
	all := map[string]Opener{
		"sqlite": func(ctx context.Context, path string) (checkpoint.Store, error) {
			return opened(sqlite.Open(ctx, path))
		},
		"memory": func(_ context.Context, rest string) (checkpoint.Store, error) {
			if rest != "" {
				return nil, usage("write --store memory:", "a store in memory has no name %q", rest)
			}
			return new(checkpoint.Memory), nil
		},
	}
	for scheme, open := range a.Stores {
		all[scheme] = open
	}
	return all
}

// opened keeps a nil *Store from becoming a Store that is not nil.
func opened(s *sqlite.Store, err error) (checkpoint.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (a *app) schemes() []string {
	var names []string
	for scheme := range a.openers() {
		names = append(names, scheme+":")
	}
	slices.Sort(names)
	return names
}

// defaultFile returns the file of the user's threads: below the directory that the
// system has for what a program keeps between runs.
func defaultFile(system string, getenv func(string) string, home func() (string, error)) (string, error) {
	const name = "weft.db"
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "weft", name), nil
	}
	if dir := getenv("LocalAppData"); system == "windows" && dir != "" {
		return filepath.Join(dir, "weft", name), nil
	}
	dir, err := home()
	if err != nil {
		return "", usage("set HOME, or name a store with --store sqlite:PATH", "the user has no home directory: %w", err)
	}
	if system == "darwin" {
		return filepath.Join(dir, "Library", "Application Support", "weft", name), nil
	}
	return filepath.Join(dir, ".local", "state", "weft", name), nil
}
