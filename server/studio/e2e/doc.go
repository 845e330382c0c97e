// Package e2e drives the studio in a browser, as a person does. It needs Chromium. The tests show:
//
//	the demonstration runs, asks, is approved and ends
//		TestDemo_RunsAsksAndEnds
//	no page loads anything from elsewhere, or reports a mistake on the console
//		each journey: tab.listen
//	approve, edit and reject; two tabs; a late answer
//		TestDecisions_AreThoseOfTheCommandLine, TestQuestion_IsAnsweredInTwoTabs,
//		TestChat_AnswersWithTools
//	the keys, the undo and the forms of the inbox
//		TestInbox_KeysDecideAndUndo, TestInbox_EditsArgumentsInAForm
//	the inbox counts down, and marks what is new
//		TestInbox_CountsDownAndMarksWhatIsNew
//	each node that runs lights up
//		TestThread_EachNodeThatRunsIsLit
//	a refresh changes what differs, and nothing else
//		TestRefresh_KeepsWhatIsTheSame, TestRefresh_ShowsEachStepAsItIs,
//		TestRefresh_ARefusedChangeIsOfItsStep
//	the server is killed during a run
//		TestThread_RecoversWhenTheServerIsKilled
//	states and differences are those of the command line, in subgraphs too
//		TestSteps_ShowTheStatesOfTheCommandLine,
//		TestCheckpoints_HaveStatesAndDifferencesOfTheCommandLine
//	fork, edit and go on; the branches
//		TestFork_EditAndGoOn
//	replay with changed code
//		TestReplay_ShowsWhereChangedCodeGoesAnotherWay, TestReplay_ShowsNoDifference
//	a part of the times is chosen
//		TestTimes_APartIsChosen
//	retries and wide rows
//		TestDemo_RunsAsksAndEnds, TestFanOut_IsOneStripThatUnfolds
//	the form of an input and its JSON agree
//		TestForm_ReportsMistakes, TestForm_HasTheConfigOfAWorkflow
//	the editor marks mistakes where they are, and saves
//		TestEditor_ShowsEachCodeAtItsPlace, TestEditor_ShowsMistakesAndSaves
//	the editor offers words, and fixes
//		TestEditor_OffersWords
//	the chat loses no word, branches and stops
//		TestChat_LosesNoWord, TestChat_AnswersWithTools, TestChat_StopsAtOnce
//	10,000 threads, 10,000 steps and 500 nodes
//		TestPages_HaveBounds
//	speeds
//		BenchmarkGoals, BenchmarkChat, BenchmarkHeap
//	the keyboard alone
//		TestKeyboard_AnswersAQuestion, TestKeyboard_ForksAndCompares
//	axe-core in both themes
//		TestPages_AreAccessible, TestChatAndEditor_AreAccessible
//	keys and a studio that only reads
//		TestKeys_ShowOwnThreads, TestReadOnly_HasNoControlThatWrites
//	a path behind a proxy
//		TestProxy_BelowAnotherPath
//	an address shows its view again
//		TestViews_HaveAddresses
//	commands do what their actions do
//		TestCommands_DoWhatTheirActionsDo, TestChat_StopsAtOnce
//	without scripts
//		TestWithoutScripts_AQuestionIsAnswered, TestWithoutScripts_ArgumentsAreEdited,
//		TestWithoutScripts_PagesCanBeRead
package e2e
