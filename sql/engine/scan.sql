-- The filter stands on its own line, so that a comment at its end does not swallow the closing parenthesis.
SELECT {columns}
FROM live
WHERE (
{where}
)
