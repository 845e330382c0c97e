package thread_test

import (
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/thread/threadtest"
)

// row runs the row that the test is named after in memory. The packages of the other stores run all
// rows, by threadtest.Run.
func row(t *testing.T) { threadtest.Row(t, t.Name()[len("Test"):], new(document.Map)) }

func TestConflict(t *testing.T) { threadtest.Row(t, "Conflict", &document.Map{}) }

// Requirement: a cache lives as long as its manager
func TestImplicitCache_EndsWithTheRun(t *testing.T) {
	for _, name := range []string{"SM43", "SM21"} {
		threadtest.Row(t, name, &document.Map{})
	}
}

func TestKeyOrderIsNoChange(t *testing.T) { threadtest.Row(t, "SM38", &document.Map{}) }

func TestSM01(t *testing.T) { row(t) }
func TestSM02(t *testing.T) { row(t) }
func TestSM03(t *testing.T) { row(t) }
func TestSM04(t *testing.T) { row(t) }
func TestSM05(t *testing.T) { row(t) }
func TestSM06(t *testing.T) { row(t) }
func TestSM07(t *testing.T) { row(t) }
func TestSM08(t *testing.T) { row(t) }
func TestSM09(t *testing.T) { row(t) }
func TestSM10(t *testing.T) { row(t) }
func TestSM11(t *testing.T) { row(t) }

// Requirement: a disabled tool is offered to the model
func TestSM12(t *testing.T) { row(t) }
func TestSM13(t *testing.T) { row(t) }
func TestSM14(t *testing.T) { row(t) }
func TestSM15(t *testing.T) { row(t) }
func TestSM16(t *testing.T) { row(t) }
func TestSM17(t *testing.T) { row(t) }
func TestSM18(t *testing.T) { row(t) }
func TestSM19(t *testing.T) { row(t) }
func TestSM20(t *testing.T) { row(t) }
func TestSM21(t *testing.T) { row(t) }
func TestSM22(t *testing.T) { row(t) }
func TestSM23(t *testing.T) { row(t) }
func TestSM24(t *testing.T) { row(t) }
func TestSM25(t *testing.T) { row(t) }
func TestSM26(t *testing.T) { row(t) }
func TestSM27(t *testing.T) { row(t) }
func TestSM28(t *testing.T) { row(t) }
func TestSM29(t *testing.T) { row(t) }
func TestSM30(t *testing.T) { row(t) }
func TestSM31(t *testing.T) { row(t) }
func TestSM32(t *testing.T) { row(t) }
func TestSM33(t *testing.T) { row(t) }
func TestSM34(t *testing.T) { row(t) }

// Requirement: a state that is gone is saved as undefined
func TestSM35(t *testing.T) { row(t) }
func TestSM36(t *testing.T) { row(t) }
func TestSM37(t *testing.T) { row(t) }
func TestSM38(t *testing.T) { row(t) }
func TestSM39(t *testing.T) { row(t) }
func TestSM40(t *testing.T) { row(t) }
func TestSM41(t *testing.T) { row(t) }
func TestSM42(t *testing.T) { row(t) }

// Requirement: a cache lives as long as its manager
func TestSM43(t *testing.T) { row(t) }
func TestSM44(t *testing.T) { row(t) }
func TestSM45(t *testing.T) { row(t) }
func TestSM46(t *testing.T) { row(t) }
func TestSM47(t *testing.T) { row(t) }
func TestSM48(t *testing.T) { row(t) }
func TestAP01(t *testing.T) { row(t) }
func TestAP02(t *testing.T) { row(t) }
func TestAP03(t *testing.T) { row(t) }
func TestAP04(t *testing.T) { row(t) }
func TestAP05(t *testing.T) { row(t) }
func TestAP06(t *testing.T) { row(t) }
func TestAP07(t *testing.T) { row(t) }
func TestAP08(t *testing.T) { row(t) }
func TestAP09(t *testing.T) { row(t) }
func TestAP10(t *testing.T) { row(t) }
func TestAP11(t *testing.T) { row(t) }
func TestAP12(t *testing.T) { row(t) }
func TestAP13(t *testing.T) { row(t) }
func TestAP14(t *testing.T) { row(t) }
func TestAP15(t *testing.T) { row(t) }
func TestAP16(t *testing.T) { row(t) }
func TestAP17(t *testing.T) { row(t) }
func TestAP18(t *testing.T) { row(t) }
func TestAP19(t *testing.T) { row(t) }
func TestAP20(t *testing.T) { row(t) }
func TestAP21(t *testing.T) { row(t) }
func TestAP22(t *testing.T) { row(t) }
func TestAP23(t *testing.T) { row(t) }

// Requirement: every save has version 1
func TestAP24(t *testing.T) { row(t) }
