package budget

import (
	"fmt"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
)

func TestTable_BoundsRevokedReservations(t *testing.T) {
	table := newTable(new(document.Map), "")
	for i := range mostRevoked + 10 {
		table.revoke(fmt.Sprint(i), []string{"a", "b"})
	}
	if n := len(table.revokedIn([]string{"a"})); n != mostRevoked {
		t.Errorf("got %d reservations in memory, want %d", n, mostRevoked)
	}
	table.removed(table.revokedIn([]string{"a"}), []document.Change{{ID: "a"}})
	if a, b := len(table.revokedIn([]string{"a"})), len(table.revokedIn([]string{"b"})); a != 0 || b != mostRevoked {
		t.Errorf("got %d of a and %d of b after a write of a, want 0 and %d", a, b, mostRevoked)
	}
	table.removed(table.revokedIn([]string{"b"}), []document.Change{{ID: "b"}})
	if n := len(table.revoked); n != 0 {
		t.Errorf("got %d reservations in memory after a write of b, want none", n)
	}
}
