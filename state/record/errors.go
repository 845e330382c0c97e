package record

// TypeError is returned when a value does not fit its declared [Type].
type TypeError struct {
	Path string // the place inside the value, such as items[3].url; "" is all of it
	What string
	text bool // it is text that is not UTF-8
}

func (e *TypeError) Error() string {
	if e.Path == "" {
		return e.What
	}
	return e.Path + ": " + e.What
}

// under moves the error one step down: below step, which is a name or an [index].
func (e *TypeError) under(step string) *TypeError {
	if e.Path != "" && e.Path[0] != '[' {
		step += "."
	}
	e.Path = step + e.Path
	return e
}
