package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/weftrun/weft/internal/suggest"
)

// Settings configure an agent in layers: defaults, thread and turn. A nil field is unset: the
// previous layer provides the value. A later layer overrides an earlier one, except that the lowest
// limit (Max…) applies. Do not modify the value that a field points to. Set a new pointer instead:
// Settings{PlanningMode: new(true)}.
type Settings struct {
	// PlanningMode shows each plan to a person before it runs.
	PlanningMode *bool `json:"planning_mode_enabled,omitempty"`
	// ApprovalMode is disabled, selective or all_capabilities.
	ApprovalMode              *string `json:"approval_global_mode,omitempty"`
	MemoryApproval            *bool   `json:"memory_approval_enabled,omitempty"`
	TaskExtractionBypass      *bool   `json:"task_extraction_bypass_enabled,omitempty"`
	CapabilitySelectionBypass *bool   `json:"capability_selection_bypass_enabled,omitempty"`
	// PinnedCapability is the only capability that a turn may use, for any task; "" means none.
	PinnedCapability *string `json:"pinned_capability,omitempty"`

	MaxReclassifications *int `json:"max_reclassifications,omitempty"`
	MaxPlanningAttempts  *int `json:"max_planning_attempts,omitempty"`
	// MaxStepRetries is the number of retries of a step; 0 means that only the retry policy of its
	// capability applies.
	MaxStepRetries *int `json:"max_step_retries,omitempty"`
	// MaxExecutionSeconds is the limit of a turn in wall-clock time; 0 means no limit.
	MaxExecutionSeconds *int `json:"max_execution_time_seconds,omitempty"`
	// MaxConcurrentClassifications is the limit of concurrent requests to a model; 0 means no
	// limit.
	MaxConcurrentClassifications *int `json:"max_concurrent_classifications,omitempty"`
	// MaxRetries is the limit of the attempts of any node, in addition to its policy; 0 means no
	// limit.
	MaxRetries *int `json:"max_retries,omitempty"`

	// Own holds settings of the application by name. In JSON they are members of the same object.
	// The runtime stores them and does not interpret them. A name that looks like a misspelt known
	// name is an error.
	Own map[string]json.RawMessage `json:"-"`
}

// OwnSetting returns a setting of the application. ok is false if it is not set. The error is not
// nil if its value cannot be decoded as a T.
func OwnSetting[T any](s Settings, name string) (v T, ok bool, err error) {
	data, ok := s.Own[name]
	if !ok {
		return v, false, nil
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, true, fmt.Errorf("%w: %s: %w", ErrSettings, name, err)
	}
	return v, true, nil
}

// IsZero reports whether s has no settings.
func (s Settings) IsZero() bool {
	if len(s.Own) == 0 {
		s.Own = nil
	}
	return reflect.ValueOf(s).IsZero()
}

// whole reports whether s has all known settings, as the result of [StateManager.TurnSettings] has.
func (s Settings) whole() bool {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Pointer && f.IsNil() {
			return false
		}
	}
	return true
}

// The modes of ApprovalMode.
const (
	ApproveNothing  = "disabled"
	ApproveSelected = "selective"
	ApproveAll      = "all_capabilities"
)

// Setting describes one of the [Settings] for users.
type Setting struct {
	Name    string // as in JSON
	Help    string
	Default string // value in SafeSettings, as JSON
}

// settingsHelp describes the settings in their display order.
var settingsHelp = []Setting{
	{Name: "planning_mode_enabled", Help: "a person sees each plan before it runs"},
	{Name: "approval_global_mode", Help: "what needs approval: disabled (nothing), selective (as each capability declares), all_capabilities"},
	{Name: "task_extraction_bypass_enabled", Help: "the whole conversation is the task, and none is extracted from it"},
	{Name: "capability_selection_bypass_enabled", Help: "planning uses all capabilities, without a selection"},
	{Name: "pinned_capability", Help: "the only capability that a turn may use; empty is none"},
	{Name: "memory_approval_enabled", Help: "storing facts about the user needs approval"},
	{Name: "max_execution_time_seconds", Help: "time limit of a turn, without waits for people; 0 means no limit"},
	{Name: "max_planning_attempts", Help: "plans of a turn"},
	{Name: "max_reclassifications", Help: "choices of capabilities after the first"},
	{Name: "max_step_retries", Help: "attempts at a step after the first; 0 leaves it to the capability"},
	{Name: "max_retries", Help: "attempts of any node; 0 is no limit of its own"},
	{Name: "max_concurrent_classifications", Help: "questions of the classifier at once; 0 is no limit"},
}

// DescribeSettings returns the descriptions of all settings.
func DescribeSettings() []Setting {
	all := slices.Clone(settingsHelp)
	defaults := SafeSettings().members()
	for i, s := range all {
		all[i].Default = string(defaults[s.Name])
	}
	return all
}

// members returns the settings that are set, by their JSON names.
func (s Settings) members() (all map[string]json.RawMessage) {
	data, _ := s.MarshalJSON() // cannot fail: the fields are bools, strings and numbers
	_ = json.Unmarshal(data, &all)
	return all
}

// Names returns the sorted JSON names of the settings that are set.
func (s Settings) Names() []string { return slices.Sorted(maps.Keys(s.members())) }

// SafeSettings returns the built-in defaults, with every field set.
func SafeSettings() Settings {
	return Settings{
		PlanningMode: new(false), ApprovalMode: new(ApproveSelected),
		MemoryApproval: new(true), TaskExtractionBypass: new(false), CapabilitySelectionBypass: new(false), PinnedCapability: new(""),
		MaxReclassifications: new(1), MaxPlanningAttempts: new(2), MaxStepRetries: new(0),
		MaxExecutionSeconds: new(300), MaxConcurrentClassifications: new(5), MaxRetries: new(0),
	}
}

// Overlay is the reducer of settings: fields that the update sets replace the old ones.
type Overlay struct{}

// Reduce returns old with the fields that update sets.
func (Overlay) Reduce(old, update Settings) Settings {
	old.PlanningMode = cmp.Or(update.PlanningMode, old.PlanningMode)
	old.ApprovalMode = cmp.Or(update.ApprovalMode, old.ApprovalMode)
	old.MemoryApproval = cmp.Or(update.MemoryApproval, old.MemoryApproval)
	old.TaskExtractionBypass = cmp.Or(update.TaskExtractionBypass, old.TaskExtractionBypass)
	old.CapabilitySelectionBypass = cmp.Or(update.CapabilitySelectionBypass, old.CapabilitySelectionBypass)
	old.PinnedCapability = cmp.Or(update.PinnedCapability, old.PinnedCapability)
	next := update.limits()
	for i, l := range old.limits() {
		*l.at = cmp.Or(*next[i].at, *l.at)
	}
	if len(update.Own) > 0 {
		own := maps.Clone(old.Own)
		if own == nil {
			own = map[string]json.RawMessage{}
		}
		maps.Copy(own, update.Own)
		old.Own = own
	}
	return old
}

type limit struct {
	name       string
	at         **int
	zeroIsNone bool
}

func (s *Settings) limits() []limit {
	return []limit{
		{"max_reclassifications", &s.MaxReclassifications, false},
		{"max_planning_attempts", &s.MaxPlanningAttempts, false},
		{"max_step_retries", &s.MaxStepRetries, true},
		{"max_execution_time_seconds", &s.MaxExecutionSeconds, true},
		{"max_concurrent_classifications", &s.MaxConcurrentClassifications, true},
		{"max_retries", &s.MaxRetries, true},
	}
}

// under returns s overlaid with a later layer. The limits of that layer can only lower those of s.
func (s Settings) under(above Settings) Settings {
	out := Overlay{}.Reduce(s, above)
	own, others := s.limits(), above.limits()
	for i, l := range out.limits() {
		if mine, given := *own[i].at, *others[i].at; mine != nil && given != nil {
			*l.at = new(lower(*mine, *given, l.zeroIsNone))
		}
	}
	return out
}

func lower(a, b int, zeroIsNone bool) int {
	if zeroIsNone && (a == 0 || b == 0) {
		return max(a, b)
	}
	return min(a, b)
}

// settingNames holds the JSON names of the known settings.
var settingNames = func() (names []string) {
	for _, s := range settingsHelp {
		names = append(names, s.Name)
	}
	return names
}()

// MarshalJSON returns one object with the known settings and those in Own.
func (s Settings) MarshalJSON() ([]byte, error) {
	type plain Settings
	data, err := json.Marshal(plain(s))
	if err != nil || len(s.Own) == 0 {
		return data, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	for name, v := range s.Own {
		if slices.Contains(settingNames, name) {
			return nil, fmt.Errorf("%w: Own has %s, which is a field", ErrSettings, name)
		}
		all[name] = v
	}
	return json.Marshal(all)
}

// UnmarshalJSON decodes settings. It stores unknown names in Own. A misspelt name, an unknown mode
// or a negative limit is an error.
func (s *Settings) UnmarshalJSON(data []byte) error {
	type plain Settings
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("%w: %w", ErrSettings, err)
	}
	if err := json.Unmarshal(data, &p.Own); err != nil {
		return fmt.Errorf("%w: %w", ErrSettings, err)
	}
	for _, name := range settingNames {
		delete(p.Own, name)
	}
	if len(p.Own) == 0 {
		p.Own = nil
	}
	*s = Settings(p)
	return s.Validate()
}

// Validate returns an error that joins all invalid settings.
func (s Settings) Validate() error {
	var errs []error
	mode := func(name string, v *string, modes ...string) {
		if v != nil && !slices.Contains(modes, *v) {
			errs = append(errs, fmt.Errorf("%w: %s is %q; it is one of %v", ErrSettings, name, *v, modes))
		}
	}
	mode("approval_global_mode", s.ApprovalMode, ApproveNothing, ApproveSelected, ApproveAll)
	for _, l := range s.limits() {
		if n := *l.at; n != nil && *n < 0 {
			errs = append(errs, fmt.Errorf("%w: %s is %d; a limit is not negative", ErrSettings, l.name, *n))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Own)) {
		switch near := suggest.Misspelt(name, settingNames); {
		case slices.Contains(settingNames, name):
			errs = append(errs, fmt.Errorf("%w: Own has %s, which is a field", ErrSettings, name))
		case near != "":
			errs = append(errs, fmt.Errorf("%w: unknown setting %q; did you mean %q?", ErrSettings, name, near))
		case !json.Valid(s.Own[name]):
			errs = append(errs, fmt.Errorf("%w: the value of %q must be JSON", ErrSettings, name))
		}
	}
	return errors.Join(errs...)
}
