// Package faulty is a checkpoint store that breaks when it is told to, for tests of what a crash leaves behind.
package faulty
