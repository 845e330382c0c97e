// Package brief has contexts that end after a time and cost nothing: they are used again, with
// their timers. They are for a call that is made often and almost never takes so long. A [Budget] is
// the time of a call that asks its server several times.
package brief
