package verbs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/cli/reports"
)

// open opens the store that the command line, the environment or the default names.
func (a *app) open(ctx context.Context) (checkpoint.Store, error) {
	address, err := a.address()
	if err != nil {
		return nil, err
	}
	opener, ok := a.openers()[schemeOf(address)]
	if !ok {
		next := "use one of " + strings.Join(a.addresses(), ", ")
		if len(a.config.Stores) == 0 {
			next += "; a program names others in weftcli.Config.Stores"
		}
		return nil, reports.Usage(next, "the store %q has an unknown scheme", reports.WithoutPassword(address))
	}
	store, err := opener(ctx, address)
	if err == nil {
		store, err = a.withBlobs(ctx, store)
		return a.withHashes(store), err
	}
	if _, bad := url.Parse(address); bad != nil && strings.Contains(address, "://") { // the error of the opener could contain the password
		return nil, reports.Usage("percent-encode special characters of the name and password, such as %40 for @", "the store %q is not a URL", reports.WithoutPassword(address))
	}
	return nil, err
}

// openToRead is open for a command that only reads: a missing file is an empty store and is not
// created.
func (a *app) openToRead(ctx context.Context) (checkpoint.Store, error) {
	if _, missing := a.missingFile(); missing {
		return new(checkpoint.Memory), nil
	}
	return a.open(ctx)
}

// missingFile returns the path of the SQLite store, and reports whether that file does not exist
// yet. The path is empty for other stores.
func (a *app) missingFile() (path string, missing bool) {
	address, err := a.address()
	if err != nil || schemeOf(address) != "sqlite" {
		return "", false
	}
	if path, _, err = sqlite.ParsePath(afterScheme(address)); err != nil {
		return "", false // opening it fails
	}
	_, err = os.Stat(path)
	return path, errors.Is(err, fs.ErrNotExist)
}

// address returns the store's address.
func (a *app) address() (string, error) {
	address := a.Store
	if address == "" {
		address = os.Getenv(reports.StoreVariable)
	}
	switch {
	case address == "":
		path, err := defaultFile(runtime.GOOS, os.Getenv, os.UserHomeDir)
		return "sqlite:" + path, err
	case !strings.Contains(address, ":"):
		return "", reports.Usage("did you mean sqlite:"+address+"?", "the store %q has no scheme", address)
	case address == "sqlite:":
		return "", reports.Usage("write sqlite:PATH", "the store %q names no file", address)
	}
	return address, nil
}

func schemeOf(address string) string {
	scheme, _, _ := strings.Cut(address, ":")
	return scheme
}

func afterScheme(address string) string {
	_, rest, _ := strings.Cut(address, ":")
	return rest
}

// storeIs reports whether the address of the store has the scheme.
func (a *app) storeIs(scheme string) bool {
	address, err := a.address()
	return err == nil && schemeOf(address) == scheme
}

// inMemory reports whether the store is lost when the process ends.
func (a *app) inMemory() bool { return a.storeIs("memory") }

func (a *app) openers() map[string]Opener {
	all := map[string]Opener{
		"sqlite": func(ctx context.Context, address string) (checkpoint.Store, error) {
			path, cfg, err := sqlite.ParsePath(afterScheme(address))
			if err != nil {
				return nil, reports.Usage("write sqlite:PATH?sync=normal", "%v", err)
			}
			cfg.BusyTimeout = a.busyTimeout
			return opened(sqlite.OpenConfig(ctx, path, cfg))
		},
		"memory": func(_ context.Context, address string) (checkpoint.Store, error) {
			if rest := afterScheme(address); rest != "" {
				return nil, reports.Usage("write --store memory:", "the memory store takes no name (got %q)", rest)
			}
			return new(checkpoint.Memory), nil
		},
	}
	for scheme, open := range a.config.Stores {
		all[scheme] = open
	}
	return all
}

// opened returns a nil interface if there is an error, not one with a nil *sqlite.Store.
func opened(s *sqlite.Store, err error) (checkpoint.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// addresses describes the addresses of the stores of this program.
func (a *app) addresses() []string {
	names := []string{"sqlite:PATH", "memory:"}
	for scheme := range a.config.Stores {
		names = append(names, scheme+":…")
	}
	slices.Sort(names[2:])
	return names
}

// storeHelp describes the addresses in the help of --store.
func (a *app) storeHelp() string {
	if len(a.config.Stores) == 0 {
		return "sqlite:PATH or memory:"
	}
	return "sqlite:PATH, memory: or the URL of a server"
}

// unavailable describes what to do about a store that cannot be used.
func (a *app) unavailable() string {
	if a.storeIs("sqlite") || a.inMemory() {
		return "check the path and its permissions, or name another store with --store sqlite:PATH"
	}
	return fmt.Sprintf("check the address, the password and the server behind --store or $%s; run %s for details", reports.StoreVariable, a.Command("doctor"))
}

// locked describes what to do about a store that other processes keep locked.
func (a *app) locked() string {
	if a.storeIs("sqlite") {
		return "stop the program that has locked the file, or try again; nothing was written"
	}
	return "try again; nothing was written"
}

// defaultFile returns the store of a user who names none: weft.db in the directory that the system
// has for the state of programs.
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
		return "", reports.Usage("set HOME, or name a store with --store sqlite:PATH", "the user has no home directory: %w", err)
	}
	if system == "darwin" {
		return filepath.Join(dir, "Library", "Application Support", "weft", name), nil
	}
	return filepath.Join(dir, ".local", "state", "weft", name), nil
}
