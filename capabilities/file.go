package capabilities

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
)

// SaveContexts writes contexts to a file in a folder, as indented JSON, and returns its path. It
// creates the folder if necessary, and adds ".json" to a name without it. It returns an
// agent.ErrFileName for a name that is empty or has a path in it. An existing file is replaced
// atomically.
func SaveContexts(folder, name string, data state.ContextData) (path string, err error) {
	if name == "" || name != filepath.Base(name) || !filepath.IsLocal(name) || name == "." {
		return "", fmt.Errorf("%w: %q", agent.ErrFileName, name)
	}
	if !strings.HasSuffix(name, ".json") {
		name += ".json"
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(data); err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	path = filepath.Join(folder, name)
	return path, replace(path, text.Bytes())
}

func replace(path string, text []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".contexts-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if end := f.Close(); err == nil {
		err = end
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// LoadContexts reads a file written by SaveContexts. If there is none, it returns an
// fs.ErrNotExist.
func LoadContexts(path string) (data state.ContextData, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return data, err
	}
	if err := json.Unmarshal(text, &data); err != nil {
		return state.ContextData{}, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}
