package state_test

import (
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/state"
)

// Votes counts yes and no: a channel made outside the package. It holds no slice,
// map or pointer, so an assigned copy is a snapshot.
type Votes struct {
	base, own tally
}

type tally struct {
	Yes int `json:"yes"`
	No  int `json:"no"`
}

func (t tally) plus(u tally) tally { return tally{t.Yes + u.Yes, t.No + u.No} }

// Cast adds one vote.
func (v *Votes) Cast(yes bool) {
	if yes {
		v.own.Yes++
	} else {
		v.own.No++
	}
}

// Passed reports whether yes leads.
func (v *Votes) Passed() bool {
	sum := v.base.plus(v.own)
	return sum.Yes > sum.No
}

// Channel returns v: it has the methods of a channel itself.
func (v *Votes) Channel() state.Channel { return v }

func (v *Votes) Wrote() bool { return v.own != tally{} }

func (v *Votes) Fold(writes []state.Channel) error {
	for _, w := range writes {
		v.base = v.base.plus(w.(*Votes).own)
	}
	return nil
}

func (v Votes) MarshalJSON() ([]byte, error) { return json.Marshal(v.base.plus(v.own)) }

func (v *Votes) UnmarshalJSON(data []byte) error {
	var t tally
	err := json.Unmarshal(data, &t)
	v.own = v.own.plus(t)
	return err
}

func (v *Votes) Stored() (any, bool)                          { return v.base, v.base != tally{} }
func (v *Votes) Restore(dec state.Decode) error               { *v = Votes{}; return dec(&v.base) }
func (v *Votes) Writes() state.Write                          { return state.Write{Value: v.own} }
func (v *Votes) RestoreWrites(_ bool, dec state.Decode) error { v.own = tally{}; return dec(&v.own) }

// A type of your own is a field of a state when its pointer has the method Channel.
func ExampleChanneler() {
	type Meeting struct {
		Motion Votes `json:"motion"`
	}
	schema, err := state.SchemaOf[Meeting]()
	if err != nil {
		fmt.Println(err)
		return
	}
	run, ann, bob := schema.New(), schema.New(), schema.New()
	ann.State.(*Meeting).Motion.Cast(true)
	bob.State.(*Meeting).Motion.Cast(false)
	bob.State.(*Meeting).Motion.Cast(true)
	if err := run.Channels[0].Fold([]state.Channel{ann.Channels[0], bob.Channels[0]}); err != nil {
		fmt.Println(err)
		return
	}
	data, _ := schema.Encode(run)
	fmt.Println(string(data), run.State.(*Meeting).Motion.Passed())
	// Output: {"motion":{"yes":2,"no":1}} true
}

var _ state.Channeler = (*Votes)(nil)
