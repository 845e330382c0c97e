package floors

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rowCounts are the tables of the founding documents, with the number of their rows.
var rowCounts = map[string]int{
	"SM": 48, // the state manager of ART
	"AP": 24, // its proposal for persistence
	"HC": 29, // the headless core
	"AB": 43, // the architecture of Alpha Berkeley
	"CM": 15, // the conversation manager of ART
	"CR": 25, // its repository
}

// suites are the packages whose rules run on every store, by the rows that have to be in them.
var suites = map[string]string{
	"SM": "checkpoint/thread/threadtest",
	"AP": "checkpoint/thread/threadtest",
	"HC": "checkpoint/session/sessiontest",
	"CM": "checkpoint/conversation/conversationtest",
	"CR": "checkpoint/conversation/conversationtest",
}

// bugs are the 28 defects that the founding documents mark in the systems they describe, in their
// order, each with the tests that show that it is not here. Those of a row are in the tables above.
var bugs = []struct{ what, tests string }{
	{"a state that is gone is saved as undefined", "checkpoint/thread.TestSM35"},
	{"a cache lives as long as its manager", "checkpoint/thread.TestSM43 checkpoint/thread.TestTrap16ImplicitCacheDoesNotOutliveTheRunAndSetConfigKeepsDirtyState"},
	{"every save has version 1", "checkpoint/thread.TestAP24"},
	{"a node that stores and then fails leaves the write", "state/agent.TestAB17StoreContextLeavesNothingWhenItsNodeFails"},
	{"nothing counts the attempts of a step", "state/agent.TestAB32ANodeSeesHowOftenItsStepFailed nodes/turn.TestAB32ACapabilityFallsBackAfterItsFailures"},
	{"what the user said is not stored", "checkpoint/conversation.TestCM14 nodes/pes.TestTrap20TheMessagesOfTheUserAndOfTheAgentAreBothStored"},
	{"notebooks never show", "nodes/turn.TestBug07ANotebookReachesWhoAnswers"},
	{"a node's own error is swallowed", "nodes/turn.TestAPanicAnywhereEndsTheTurnWithAReport nodes/turn.TestAFatalFailureFailsTheRun"},
	{"a failure of a preparation loops", "nodes/turn.TestTrap01ARetriableFailureOfAPreparationEndsAfterItsAttemptsAndASuccessGoesOn"},
	{"limits of steps and of time are not enforced", "state/agent.TestTrap12TimeAndStepLimitsFire nodes/turn.TestTrap12TheTimeOfATurnEndsANodeThatHangs"},
	{"a killed turn and an unregistered step crash", "nodes/turn.TestTrap02AKilledTurnAndAnUnregisteredStepSaySoAndDoNotCrash"},
	{"a classifier without a task loops", "state/agent.TestNobodySendsATurnToHimselfForEver nodes/turn.TestTrap12ThePlansAndReclassificationsOfATurnAreCounted"},
	{"plans that wait are of the project, not of a thread", "nodes/turn.TestBug13PlansThatWaitAreOfTheirThreads"},
	{"an answer of no inputs gets no summaries", "nodes/turn.TestTrap10AnAnswerOfNoInputsIsNotOneOfAllContexts"},
	{"who asks back knows neither step nor history", "nodes/turn.TestBug15WhoAsksBackKnowsTheStepAndTheConversation"},
	{"graphs inside graphs share a thread", "graph.TestRow101AChildWithAThreadOfItsOwnKeepsItsNamespace graph.TestTwoTasksCannotUseOneChildOfTheThread"},
	{"who was rejected asks again", "nodes/turn.TestTrap03ARejectionEndsPerPolicyWithoutASecondPrompt nodes/turn.TestTrap03ARejectedPlanEndsPerPolicyWithoutASecondPrompt"},
	{"a message of commands alone is a task", "nodes/turn.TestTrap05CommandsAloneRunNothingTextSurvivesAndNoSettingIsLost"},
	{"settings have no effect, or undo others", "state/agent.TestOneSettingLeavesTheOthersAlone state/agent.TestUnknownAndSenselessSettingsAreErrors"},
	{"what is excluded stays, or crashes", "capabilities.TestOneRegistryExtendsAnother"},
	{"at a deadline what has come is lost too", "nodes/turn.TestTrap29TheDeadlineOfTheSourcesKeepsWhatHasCome"},
	{"a memory that cannot be read is written over", "capabilities/memory.TestTrap21 capabilities/memory.TestBug22WhatCannotBeReadIsNotWrittenOver"},
	{"filters of subscribers are ignored", "checkpoint/conversation.TestTrap17 checkpoint/redis.TestAnotherProcessHearsWhatIsAdded"},
	{"a tool is told that will not run", "capabilities/tool.TestAToolThatIsNotEnabledIsNeitherToldNorRun checkpoint/thread.TestSM12"},
	{"what a crash left under way stays so", "nodes/pes.TestTrap15AnItemInProgressIsReclaimedAndACycleOrAMissingDependencyIsReported"},
	{"deadlines and forms of questions are not read", "nodes/turn.TestNobodyDecidingInTimeIsANo graph/workflow.TestAnApprovalThatExpiresIsWhatTheFileSays"},
	{"a message while a question is open changes the plan under it", "nodes/turn.TestATurnThatWaitsIsRejectedCancelledOrLeftForAnother"},
	{"a limit counts configurations, not calls", "graph/workflow.TestNamedLimitsAreSharedByTheirName capabilities/model.TestTheLimitOfCallsIsExactUnderRaces"},
}

// storeless are rows of a suite's table in which no store is involved: what a manager does
// around its repository, with one that notes what it is asked.
var storeless = map[string]bool{
	"CM01": true, "CM02": true, "CM03": true, "CM04": true, "CM05": true, "CM06": true, "CM07": true,
	"CM08": true, "CM09": true, "CM10": true, "CM11": true,
	"CM15": true, // that a message comes back as it was is CR21
}

var (
	testOfRow = regexp.MustCompile(`^Test([A-Z]{2})(\d+)`)
	testFunc  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	ruleOfRow = regexp.MustCompile(`^([A-Z]{2})(\d\d)$`)
)

// rowOf returns a row as SM08, "" if the name has none.
func rowOf(name string, pattern *regexp.Regexp) string {
	m := pattern.FindStringSubmatch(name)
	if m == nil || rowCounts[m[1]] == 0 {
		return ""
	}
	n, _ := strconv.Atoi(m[2]) // the pattern has digits alone
	return fmt.Sprintf("%s%02d", m[1], n)
}

// rowsIn returns the rows that test functions of a file are named after, and those of the rules of a suite.
func rowsIn(t *testing.T, name string, text []byte) (tests, rules []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && strings.HasSuffix(name, "_test.go") {
				tests = append(tests, rowOf(n.Name.Name, testOfRow))
			}
		case *ast.CompositeLit: // a rule begins with its row
			if len(n.Elts) > 0 && !strings.HasSuffix(name, "_test.go") {
				if lit, ok := n.Elts[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					rules = append(rules, rowOf(strings.Trim(lit.Value, `"`), ruleOfRow))
				}
			}
		}
		return true
	})
	return tests, rules
}

// TestNoRowOfTheFoundingDocumentsIsLost looks that each row has a test that is named after it,
// and that each row in which a store is involved is a rule of the suite that every store runs.
func TestNoRowOfTheFoundingDocumentsIsLost(t *testing.T) {
	tests, rules := map[string]bool{}, map[string]bool{}
	walk(t, func(name string, text []byte) {
		if path.Ext(name) != ".go" || strings.Contains(name, "/testdata/") {
			return
		}
		named, ruled := rowsIn(t, name, text)
		for _, row := range named {
			tests[row] = true
		}
		for _, row := range ruled {
			if row != "" && suites[row[:2]] == path.Dir(name) {
				rules[row] = true
			}
		}
	})
	for prefix, n := range rowCounts {
		for i := range n {
			row := fmt.Sprintf("%s%02d", prefix, i+1)
			if !tests[row] {
				t.Errorf("no test is named after %s: want a function Test%s…", row, row)
			}
			if suites[prefix] != "" && !rules[row] && !storeless[row] {
				t.Errorf("%s is no rule of %s, and so not tested on every store", row, suites[prefix])
			}
		}
	}
	for row := range storeless {
		if rules[row] {
			t.Errorf("%s is a rule of %s: take it off the list storeless", row, suites[row[:2]])
		}
	}
}

func TestNoBugOfTheFoundingDocumentsIsForgotten(t *testing.T) {
	tests := map[string]bool{}
	walk(t, func(name string, text []byte) {
		if !strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			tests[path.Dir(name)+"."+string(m[1])] = true
		}
	})
	if len(bugs) != 28 {
		t.Errorf("got %d bugs, the documents mark 28", len(bugs))
	}
	for i, b := range bugs {
		if b.tests == "" {
			t.Errorf("bug %d has no test: %s", i+1, b.what)
		}
		for test := range strings.FieldsSeq(b.tests) {
			if !tests[test] {
				t.Errorf("bug %d, %s: there is no test %s", i+1, b.what, test)
			}
		}
	}
}

// TestNoTrapOfTheFoundingDocumentsIsForgotten looks that each of the traps in which systems of this kind were caught, in the
// order of the documents, has a test that is named after it.
func TestNoTrapOfTheFoundingDocumentsIsForgotten(t *testing.T) {
	_, tests := words(t)
	for i := range 30 {
		prefix := fmt.Sprintf("TestTrap%02d", i+1)
		if !slices.ContainsFunc(tests, func(name string) bool { return strings.HasPrefix(name, prefix) }) {
			t.Errorf("no test is named after trap %d: want a function %s…", i+1, prefix)
		}
	}
}

func TestEveryStoreRunsTheSuites(t *testing.T) {
	calls := map[string]bool{}
	walk(t, func(name string, text []byte) {
		for _, suite := range []string{"documenttest", "conversationtest", "sessiontest", "threadtest", "taskstest"} {
			if strings.HasSuffix(name, "_test.go") && strings.Contains(string(text), suite+".Run(t,") {
				calls[path.Base(path.Dir(name))+" "+suite] = true
			}
		}
	})
	for _, store := range []string{"sqlite", "redis", "postgres"} {
		for _, suite := range []string{"documenttest", "conversationtest", "sessiontest", "threadtest", "taskstest"} {
			if !calls[store+" "+suite] {
				t.Errorf("checkpoint/%s does not call %s.Run", store, suite)
			}
		}
	}
}

func TestRowsAreFoundInNames(t *testing.T) {
	text := `package x
func TestSM08(t *testing.T) {}
func TestHC9ResultsFit(t *testing.T) {}
func (x) TestCM01() {}
func TestXX01() {}
var rules = []Rule{{"CR07", "name", f}, {"", "CR08", f}}`
	tests, _ := rowsIn(t, "x_test.go", []byte(text))
	_, rules := rowsIn(t, "x.go", []byte(text))
	if got := strings.Join(tests, " "); got != "SM08 HC09 " {
		t.Errorf("got the tests %q", got)
	}
	if got := strings.TrimSpace(strings.Join(rules, " ")); got != "CR07" {
		t.Errorf("got the rules %q", got)
	}
}
