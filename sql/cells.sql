-- Count and hash sum of every cell. The sum is exact (128 bits); it leaves as text, since Arrow has no such integer.
SELECT ins_slot, exp_slot, count(*) AS cell_rows, CAST(sum(row_hash) AS VARCHAR) AS cell_hash
FROM ({records})
GROUP BY ins_slot, exp_slot
ORDER BY ins_slot, exp_slot
