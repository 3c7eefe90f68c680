provider shapes {
	probe zero();
	probe three(int32_t, uint64_t, int8_t);
	probe six(int8_t, uint8_t, int16_t, uint16_t, int32_t, uint64_t);
	probe eight(int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t);
	probe twelve(int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t);
	probe text(char *, uint8_t);
	probe record(uint64_t, int16_t, char *, uint64_t, uint16_t);
};
