package checkpointtest

var chainRules []rule
