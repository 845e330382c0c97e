package thread

import (
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"
)

// Config is the configuration of a thread: a JSON object. A Config from a store has numbers as
// json.Number. The value of enabledTools is a list of tool names.
type Config map[string]any

const enabledTools = "enabledTools"

// Value returns the value of a top-level key, and whether there is one. A dot in the key has no
// special meaning.
func (c Config) Value(key string) (json.RawMessage, bool, error) {
	v, found := c[key]
	if !found {
		return nil, false, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %.100q: %w", ErrConfig, key, err)
	}
	return data, true, nil
}

// Path returns the value at a path in the syntax of gjson, and whether there is one. Examples are
// "reasoning.model" and "enabledTools.0".
func (c Config) Path(path string) (json.RawMessage, bool, error) {
	if path == "" || len(c) == 0 {
		return nil, false, nil
	}
	data, err := json.Marshal(c)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	r := gjson.GetBytes(data, path)
	if !r.Exists() {
		return nil, false, nil
	}
	return json.RawMessage(r.Raw), true, nil
}

// Tools returns the enabled tools in the order of the list, and no tools if there is no list. It
// returns an ErrConfig if enabledTools is no list of names.
func (c Config) Tools() ([]string, error) {
	data, found, err := c.Value(enabledTools)
	if err != nil || !found {
		return []string{}, err
	}
	tools := []string{}
	if err := json.Unmarshal(data, &tools); err != nil {
		return nil, fmt.Errorf("%w: enabledTools: %w", ErrConfig, err)
	}
	return append([]string{}, tools...), nil
}

// Value decodes the result of ConfigValue or ConfigPath:
//
//	limit, found, err := thread.Value[int](s.ConfigValue(ctx, "t1", "historyLimit"))
func Value[T any](data json.RawMessage, found bool, err error) (v T, ok bool, _ error) {
	if err != nil || !found {
		return v, false, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, false, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return v, true, nil
}
