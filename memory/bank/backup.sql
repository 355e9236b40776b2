-- name: delete_odd_vectors
-- Delete the vectors of another length than most of their model.
DELETE FROM vectors WHERE (model, length(vector)) NOT IN (SELECT model, size FROM (
    SELECT model, length(vector) AS size, row_number() OVER (PARTITION BY model ORDER BY count(*) DESC) AS place
    FROM vectors GROUP BY model, size) WHERE place = 1)
