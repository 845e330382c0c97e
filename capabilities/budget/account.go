package budget

import (
	"time"
)

// open is a reservation in a document.
type open struct {
	Amount
	Task  string    `json:"task,omitempty"` // the ExecutionID of the code that makes the call
	Owner string    `json:"owner"`          // the Limiter
	Until time.Time `json:"until"`          // it lapses, if it is not renewed
}

// keepLapsed is how long a reservation that lapsed can still be settled.
const keepLapsed = time.Hour

// reservations are the reservations of a document, by id.
type reservations map[string]open

// lost removes those that will not settle any more, and returns their sum: those that lapsed long
// ago, and those that an earlier process made for the same task.
func (r reservations) lost(now time.Time, task, owner string) (sum Amount) {
	for id, o := range r {
		dead := task != "" && o.Task == task && o.Owner != owner
		if dead || now.After(o.Until.Add(keepLapsed)) {
			sum = sum.plus(o.Amount)
			delete(r, id)
		}
	}
	return sum
}

// total returns the sum of all, and how many have not lapsed.
func (r reservations) total(now time.Time) (sum Amount, running int) {
	for _, o := range r {
		sum = sum.plus(o.Amount)
		if !now.After(o.Until) {
			running++
		}
	}
	return sum, running
}

// settle replaces a reservation by what was spent. It returns false if it is not there any more.
func (r reservations) settle(id string) bool {
	_, found := r[id]
	delete(r, id)
	return found
}

// remove removes reservations of calls that are not made.
func (r reservations) remove(ids []string) {
	for _, id := range ids {
		delete(r, id)
	}
}

// renew extends a reservation.
func (r reservations) renew(id string, until time.Time) {
	if o, found := r[id]; found {
		o.Until = until
		r[id] = o
	}
}

// account is the document of a limit and a key.
type account struct {
	Limit  string       `json:"limit"`
	By     string       `json:"by,omitempty"`
	Key    string       `json:"key,omitempty"`
	Window string       `json:"window,omitempty"` // the period that Spent counts
	Most   Amount       `json:"most,omitzero"`    // as the newest call had it, without raises
	Spent  Amount       `json:"spent,omitzero"`
	Raised Amount       `json:"raised,omitzero"`
	Raises int          `json:"raises,omitempty"`
	Next   time.Time    `json:"next,omitzero"` // of a Rate: when the calls so far are paid off
	Open   reservations `json:"open,omitempty"`
}

// mostSkew is by how much the clocks of processes may differ at the end of a period.
const mostSkew = 5 * time.Minute

// begin starts a new period, if the old one has ended. A process whose clock is late counts in the
// period that another one has begun.
func (a *account) begin(l *Limit, now time.Time) {
	if w := l.Per.window(now); w != a.Window && l.Per.window(now.Add(mostSkew)) != a.Window {
		a.Window, a.Spent, a.Raised, a.Raises = w, Amount{}, Amount{}, 0
	}
}

// reserve adds a reservation, or returns why not.
func (a *account) reserve(l *Limit, id string, o open, now time.Time) *Error {
	a.begin(l, now)
	a.Limit, a.By, a.Most = l.Name, l.By, l.Most
	a.Spent = a.Spent.plus(a.Open.lost(now, o.Task, o.Owner))
	reserved, running := a.Open.total(now)
	refuse := func(w What, wait time.Duration) *Error {
		return &Error{Limit: l.Name, Key: a.Key, What: w, Most: l.Most.plus(a.Raised), Spent: a.Spent, Reserved: reserved, Wanted: o.Amount, Running: running, Wait: wait}
	}
	for _, w := range amounts {
		used := sum(sum(a.Spent.part(w), reserved.part(w)), o.Amount.part(w))
		if most := l.Most.part(w); most > 0 && used > sum(most, a.Raised.part(w)) {
			return refuse(w, 0)
		}
	}
	if l.Concurrency > 0 && running >= l.Concurrency {
		return refuse(Concurrency, 0)
	}
	if wait := a.pace(l.Rate, now); wait > 0 {
		return refuse(PerTime, wait)
	}
	if a.Open == nil {
		a.Open = reservations{}
	}
	a.Open[id] = o
	return nil
}

// pace counts one more call of a rate, or returns how long it must wait.
func (a *account) pace(r Rate, now time.Time) time.Duration {
	if r.Calls == 0 {
		return 0
	}
	burst := r.Burst
	if burst == 0 {
		burst = r.Calls
	}
	each := r.Per / time.Duration(r.Calls)
	next := a.Next
	if next.Before(now) {
		next = now
	}
	if wait := next.Sub(now) - each*time.Duration(burst-1); wait > 0 {
		return wait
	}
	a.Next = next.Add(each)
	return 0
}

// settle replaces a reservation by what was spent.
func (a *account) settle(l *Limit, id string, spent Amount, now time.Time) {
	if a.Open.settle(id) {
		a.begin(l, now)
		a.Spent = a.Spent.plus(spent)
	}
}

// raise raises the limit, unless that was done since an Error.
func (a *account) raise(l *Limit, window string, raises int, now time.Time) bool {
	a.begin(l, now)
	if a.Window != window || a.Raises != raises {
		return false
	}
	a.Raised, a.Raises = a.Raised.plus(l.Raise), a.Raises+1
	return true
}
