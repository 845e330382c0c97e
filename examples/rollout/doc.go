// Package rollout is an example of a change to a workflow whose threads have not all ended: one
// waits for an answer, others have failed. Its script lists those with which the new file can go
// on. It pins the thread with which it cannot, tries the failed ones again together, and exports
// the threads of a customer.
//
//	PATH="$(go env GOPATH)/bin:$PATH" examples/rollout/rollout.sh
//
// needs a weft that was installed. testdata/output.txt has what it prints.
package rollout
