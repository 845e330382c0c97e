package conversation_test

import (
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/conversationtest"
)

// row tests the store in memory by the rules of a row. The packages of the other stores run all
// rules, by conversationtest.Run.
func row(t *testing.T, name string) {
	t.Helper()
	tested := false
	for _, r := range conversationtest.Rules {
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

// TestConversations tests what no row asks for.
func TestConversations(t *testing.T) { row(t, "") }

func TestCR01(t *testing.T) { row(t, "CR01") }
func TestCR02(t *testing.T) { row(t, "CR02") }
func TestCR03(t *testing.T) { row(t, "CR03") }
func TestCR04(t *testing.T) { row(t, "CR04") }
func TestCR05(t *testing.T) { row(t, "CR05") }
func TestCR06(t *testing.T) { row(t, "CR06") }
func TestCR07(t *testing.T) { row(t, "CR07") }
func TestCR08(t *testing.T) { row(t, "CR08") }
func TestCR09(t *testing.T) { row(t, "CR09") }
func TestCR10(t *testing.T) { row(t, "CR10") }
func TestCR11(t *testing.T) { row(t, "CR11") }
func TestCR12(t *testing.T) { row(t, "CR12") }
func TestCR13(t *testing.T) { row(t, "CR13") }
func TestCR14(t *testing.T) { row(t, "CR14") }
func TestCR15(t *testing.T) { row(t, "CR15") }
func TestCR16(t *testing.T) { row(t, "CR16") }
func TestCR17(t *testing.T) { row(t, "CR17") }
func TestCR18(t *testing.T) { row(t, "CR18") }
func TestCR19(t *testing.T) { row(t, "CR19") }
func TestCR20(t *testing.T) { row(t, "CR20") }
func TestCR21(t *testing.T) { row(t, "CR21") }
func TestCR22(t *testing.T) { row(t, "CR22") }
func TestCR23(t *testing.T) { row(t, "CR23") }
func TestCR24(t *testing.T) { row(t, "CR24") }
func TestCR25(t *testing.T) { row(t, "CR25") }

func TestTrap18(t *testing.T) { row(t, "CR11") }

func TestTrap19(t *testing.T) {
	for _, name := range []string{"CR15", "CR16", "CR17", "CR18", "CR19", "CR20"} {
		t.Run(name, func(t *testing.T) { row(t, name) })
	}
}

func BenchmarkConversations(b *testing.B) { conversationtest.Benchmark(b, inMemory) }
