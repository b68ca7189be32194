-- Nothing yet.
SELECT 1;
