package sdktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The versions of the clients.
const (
	nodeSDK   = "@langchain/langgraph-sdk@1.15.0"
	pythonSDK = "langgraph-sdk==0.4.14"
)

// timeout bounds an installation, and a script.
const timeout = 4 * time.Minute

// Node runs a script in JavaScript with the address of a server, and fails the test if it fails.
func Node(t *testing.T, script, address string) {
	t.Helper()
	NodeWith(t, []string{nodeSDK}, script, address)
}

// NodeWith runs a script in JavaScript with packages of npm, each with its version.
func NodeWith(t *testing.T, packages []string, script string, args ...string) {
	t.Helper()
	dir := NPM(t, packages...)
	// Modules are found from the place of the script.
	at := filepath.Join(dir, filepath.Base(t.TempDir())+"-"+filepath.Base(script))
	copyFile(t, script, at)
	t.Cleanup(func() { _ = os.Remove(at) })
	runScript(t, nil, "node", append([]string{at}, args...)...)
}

// Python runs a script in Python with the address of a server, and fails the test if it fails.
func Python(t *testing.T, script, address string) {
	t.Helper()
	PythonWith(t, []string{pythonSDK}, script, address)
}

// PythonWith runs a script in Python with packages of PyPI, each with its version.
func PythonWith(t *testing.T, packages []string, script string, args ...string) {
	t.Helper()
	runScript(t, []string{"PYTHONPATH=" + PyPI(t, packages...)}, "python3", append([]string{script}, args...)...)
}

// PyPI returns a folder with packages of PyPI, each with its version.
func PyPI(t testing.TB, packages ...string) (dir string) {
	t.Helper()
	return installed(t, folder("python", packages), func(ctx context.Context, dir string) error {
		return run(ctx, dir, nil, "python3", append([]string{"-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", dir}, packages...)...)
	})
}

// NPM returns a folder whose node_modules has packages of npm, each with its version.
func NPM(t testing.TB, packages ...string) (dir string) {
	t.Helper()
	return installed(t, folder("node", packages), func(ctx context.Context, dir string) error {
		return run(ctx, dir, nil, "npm", append([]string{"install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-save"}, packages...)...)
	})
}

// folder names the folder of packages.
func folder(language string, packages []string) string {
	return language + "-" + strings.NewReplacer("@", "", "/", "-", "=", "-", "[", "-", "]", "").Replace(strings.Join(packages, "-"))
}

// installed returns the folder of a client, and installs it if it is missing. Several processes may
// do so at once: the first one that is ready wins.
func installed(t testing.TB, name string, install func(ctx context.Context, dir string) error) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "weft-sdktest", name)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "new-*")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if err := install(ctx, fresh); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, os.ErrExist) {
		if _, missing := os.Stat(dir); missing != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func runScript(t *testing.T, env []string, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if err := run(ctx, "", env, program, args...); err != nil {
		t.Fatal(err)
	}
}

func run(ctx context.Context, dir string, env []string, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %q: %w\n%s", program, args, err, out)
	}
	return nil
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
