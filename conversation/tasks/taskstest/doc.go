// Package taskstest judges a document.Store by what the tasks of package tasks need of it.
//
//	func TestTasks(t *testing.T) {
//		taskstest.Run(t, func(t testing.TB) document.Store { return documentsOf(t, open(t)) })
//	}
package taskstest
