// Package smalldisk gives a test a disk that is soon full, for the tests of the stores. It runs the test again in a
// process of its own, with a file system in memory that only it sees; where the system does not allow that, with a
// limit on the size of files, which refuses writes with another error than a full disk does.
package smalldisk
