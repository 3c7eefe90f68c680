package operand

// Objects are the files behind sites by their paths, each opened once.
type Objects map[string]*Object

// Open returns the file at path.
func (o Objects) Open(path string) (*Object, error) {
	if obj := o[path]; obj != nil {
		return obj, nil
	}
	obj, err := OpenObject(path)
	if err == nil {
		o[path] = obj
	}
	return obj, err
}

// Close closes all files.
func (o Objects) Close() {
	for _, obj := range o {
		obj.Close()
	}
	clear(o)
}
