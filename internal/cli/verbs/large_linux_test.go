package verbs_test

// maxrssUnit is in what the system counts memory, in bytes.
const maxrssUnit = 1024
