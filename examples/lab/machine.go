package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/state/agent"
)

// machine is a folder with a file for each channel.
type machine string

// Setpoint is a value that was written to a channel.
type Setpoint struct {
	Channel string  `json:"channel"`
	Value   float64 `json:"value"`
}

func (Setpoint) ContextType() string { return "SETPOINT" }

func (p Setpoint) Summary(string) any { return fmt.Sprintf("%s is %v", p.Channel, p.Value) }

// Result is the output of a calculation.
type Result struct {
	Output string `json:"output"`
}

func (Result) ContextType() string { return "RESULT" }

func (r Result) Summary(string) any { return r.Output }

var setting = regexp.MustCompile(`^set ([a-z]+) (-?[0-9.]+)$`)

// set writes a value to a channel, if the settings of the turn allow writes.
func set(m machine) capabilities.Capability {
	return capabilities.Func(capabilities.Info{
		Name: "set", Description: "writes a value to a channel of the machine", Provides: []string{"SETPOINT"},
		Match:     &capabilities.MatchGuide{Instructions: "When a channel is to be set."},
		ApproveIf: func(s agent.Settings) (bool, string) { return needsApproval(s, true) },
	}, func(_ context.Context, c *capabilities.Call) error {
		if on, _, err := agent.OwnSetting[bool](c.Manager.Settings(c.State), writesEnabled); err != nil || !on {
			return errors.Join(errors.New("writes are off: /writes!:on allows them"), err)
		}
		words := setting.FindStringSubmatch(task(c))
		if words == nil {
			return errors.New("the form is: set CHANNEL NUMBER")
		}
		value, err := strconv.ParseFloat(words[2], 64)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(string(m), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(string(m), words[1]+".pv"), []byte(words[2]+"\n"), 0o644); err != nil {
			return err
		}
		return c.Store(Setpoint{words[1], value})
	})
}

// python runs code, and leaves it as a notebook that a user interface can open.
func python(m machine) capabilities.Capability {
	return capabilities.Func(capabilities.Info{
		Name: "python", Description: "calculates with Python", Provides: []string{"RESULT"},
		Match:     &capabilities.MatchGuide{Instructions: "When something is to be calculated."},
		ApproveIf: func(s agent.Settings) (bool, string) { return needsApproval(s, false) },
	}, func(ctx context.Context, c *capabilities.Call) error {
		code := strings.TrimPrefix(task(c), "python ")
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, "python3", "-I", "-c", code)
		cmd.Env = []string{}
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("python3: %w: %s", err, out)
		}
		path, err := m.notebook(c.Step.ContextKey, code, string(out))
		if err != nil {
			return err
		}
		c.Manager.Display(c.State).Command(agent.Command{Capability: "python", URI: path, DisplayName: "the calculation", Type: "notebook"})
		return c.Store(Result{strings.TrimSpace(string(out))})
	})
}

// notebook writes a notebook with one cell.
func (m machine) notebook(name, code, out string) (path string, err error) {
	data, err := json.Marshal(map[string]any{
		"nbformat": 4, "nbformat_minor": 5, "metadata": map[string]any{},
		"cells": []any{map[string]any{"cell_type": "code", "id": "1", "metadata": map[string]any{}, "execution_count": 1, "source": code,
			"outputs": []any{map[string]any{"output_type": "stream", "name": "stdout", "text": out}}}},
	})
	if err == nil {
		err = os.MkdirAll(string(m), 0o755)
	}
	if err != nil {
		return "", err
	}
	path = filepath.Join(string(m), name+".ipynb")
	return path, os.WriteFile(path, data, 0o644)
}

func task(c *capabilities.Call) string {
	text, _ := c.State.Task.Current.Lookup()
	return strings.TrimSpace(text)
}
