package session_test

import (
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/session/sessiontest"
)

// row tests the store in memory by the rules of a row. The packages of the other stores run all
// rules, by sessiontest.Run.
func row(t *testing.T, name string) {
	t.Helper()
	tested := false
	for _, r := range sessiontest.Rules {
		if r.Row == name {
			tested = true
			t.Run(r.Name, func(t *testing.T) { r.Test(t, inMemory) })
		}
	}
	if !tested {
		t.Errorf("no rule is named %s", name)
	}
}

func inMemory(testing.TB) document.Store { return new(document.Map) }

// TestSessions tests what no row asks for.
func TestSessions(t *testing.T) { row(t, "") }

func TestHC01(t *testing.T) { row(t, "HC01") }
func TestHC02(t *testing.T) { row(t, "HC02") }
func TestHC03(t *testing.T) { row(t, "HC03") }
func TestHC04(t *testing.T) { row(t, "HC04") }
func TestHC05(t *testing.T) { row(t, "HC05") }
func TestHC06(t *testing.T) { row(t, "HC06") }
func TestHC07(t *testing.T) { row(t, "HC07") }
func TestHC08(t *testing.T) { row(t, "HC08") }
func TestHC09(t *testing.T) { row(t, "HC09") }
func TestHC10(t *testing.T) { row(t, "HC10") }
func TestHC11(t *testing.T) { row(t, "HC11") }
func TestHC12(t *testing.T) { row(t, "HC12") }
func TestHC13(t *testing.T) { row(t, "HC13") }
func TestHC14(t *testing.T) { row(t, "HC14") }
func TestHC15(t *testing.T) { row(t, "HC15") }
func TestHC16(t *testing.T) { row(t, "HC16") }
func TestHC17(t *testing.T) { row(t, "HC17") }
func TestHC18(t *testing.T) { row(t, "HC18") }
func TestHC19(t *testing.T) { row(t, "HC19") }
func TestHC20(t *testing.T) { row(t, "HC20") }
func TestHC21(t *testing.T) { row(t, "HC21") }
func TestHC22(t *testing.T) { row(t, "HC22") }
func TestHC23(t *testing.T) { row(t, "HC23") }
func TestHC24(t *testing.T) { row(t, "HC24") }
func TestHC25(t *testing.T) { row(t, "HC25") }
func TestHC26(t *testing.T) { row(t, "HC26") }
func TestHC27(t *testing.T) { row(t, "HC27") }
func TestHC28(t *testing.T) { row(t, "HC28") }
func TestHC29(t *testing.T) { row(t, "HC29") }

func TestTrap27(t *testing.T) { row(t, "HC12") }
