-- count by few groups
SELECT
  *
FROM (
  SELECT
    "t1"."key",
    COUNT(*) AS "records"
  FROM (
    SELECT
      (
        CASE
          WHEN CAST("t0"."sex" AS DOUBLE) = CAST(0.0 AS DOUBLE)
          THEN 0
          ELSE CASE WHEN CAST("t0"."sex" AS DOUBLE) = CAST(1.0 AS DOUBLE) THEN 1 ELSE -1 END
        END * 2
      ) + (
        0 + 1
      ) AS "key"
    FROM "people" AS "t0"
  ) AS "t1"
  GROUP BY
    1
) AS "t2";

-- share where
SELECT
  *
FROM (
  SELECT
    "t2"."key",
    COUNT(*) AS "records"
  FROM (
    SELECT
      (
        CASE WHEN "t1"."group_0" THEN 0 ELSE -1 END * 3
      ) + (
        CASE
          WHEN (
            "t1"."value_0" * CAST(0.0 AS DOUBLE)
          ) = CAST(0.0 AS DOUBLE)
          THEN CASE WHEN "t1"."value_0" = CAST(1.0 AS DOUBLE) THEN 1 ELSE 0 END
          ELSE -1
        END + 1
      ) AS "key"
    FROM (
      SELECT
        CAST("t0"."sex" AS DOUBLE) AS "value_0",
        CASE
          WHEN (
            (
              "t0"."age" * CAST(0.0 AS DOUBLE)
            ) = CAST(0.0 AS DOUBLE)
          )
          AND (
            "t0"."age" >= CAST(25.0 AS DOUBLE)
          )
          THEN TRUE
          ELSE FALSE
        END AS "group_0"
      FROM "people" AS "t0"
    ) AS "t1"
    WHERE
      "t1"."group_0"
  ) AS "t2"
  GROUP BY
    1
) AS "t3";

-- share where
SELECT
  0 AS "key",
  "t2"."records"
FROM (
  SELECT
    COUNT(*) AS "records"
  FROM (
    SELECT
      CAST("t0"."sex" AS DOUBLE) AS "value_0",
      CASE
        WHEN (
          (
            "t0"."age" * CAST(0.0 AS DOUBLE)
          ) = CAST(0.0 AS DOUBLE)
        )
        AND (
          "t0"."age" >= CAST(25.0 AS DOUBLE)
        )
        THEN TRUE
        ELSE FALSE
      END AS "group_0"
    FROM "people" AS "t0"
  ) AS "t1"
) AS "t2";

-- mean
SELECT
  COUNT(*) AS "records",
  COUNT("t2"."one") AS "sum_0",
  SUM("t2"."t_0") AS "sum_1",
  SUM("t2"."t_0" * "t2"."t_0") AS "sum_2"
FROM (
  SELECT
    "t1"."level",
    "t1"."index_0" AS "one",
    "t1"."index_0" AS "t_0"
  FROM (
    SELECT
      CAST(FLOOR(
        CASE
          WHEN (
            "t0"."age" * CAST(0.0 AS DOUBLE)
          ) = CAST(0.0 AS DOUBLE)
          THEN CASE
            WHEN "t0"."age" > CAST(100.0 AS DOUBLE)
            THEN CAST(100.0 AS DOUBLE)
            ELSE CASE
              WHEN "t0"."age" < CAST(0.0 AS DOUBLE)
              THEN CAST(0.0 AS DOUBLE)
              ELSE "t0"."age"
            END
          END
          ELSE NULL
        END + CAST(0.5 AS DOUBLE)
      ) AS BIGINT) AS "index_0",
      0 AS "level"
    FROM "people" AS "t0"
  ) AS "t1"
) AS "t2";

-- quantiles beside means
SELECT
  *
FROM (
  SELECT
    "t1"."key",
    COUNT(*) AS "records"
  FROM (
    SELECT
      (
        CASE
          WHEN CAST("t0"."sex" AS DOUBLE) = CAST(0.0 AS DOUBLE)
          THEN 0
          ELSE CASE WHEN CAST("t0"."sex" AS DOUBLE) = CAST(1.0 AS DOUBLE) THEN 1 ELSE -1 END
        END * 102
      ) + (
        CAST(FLOOR(
          COALESCE(
            CASE
              WHEN (
                "t0"."age" * CAST(0.0 AS DOUBLE)
              ) = CAST(0.0 AS DOUBLE)
              THEN CASE
                WHEN "t0"."age" > CAST(100.0 AS DOUBLE)
                THEN CAST(100.0 AS DOUBLE)
                ELSE CASE
                  WHEN "t0"."age" < CAST(0.0 AS DOUBLE)
                  THEN CAST(0.0 AS DOUBLE)
                  ELSE "t0"."age"
                END
              END
              ELSE NULL
            END + CAST(0.5 AS DOUBLE),
            -CAST(1.0 AS DOUBLE)
          )
        ) AS BIGINT) + 1
      ) AS "key"
    FROM "people" AS "t0"
  ) AS "t1"
  GROUP BY
    1
) AS "t2";

-- quantiles beside means
SELECT
  "t2"."level",
  COUNT(*) AS "records",
  COUNT("t2"."one") AS "sum_0",
  SUM("t2"."t_0") AS "sum_1",
  SUM("t2"."t_0" * "t2"."t_0") AS "sum_2"
FROM (
  SELECT
    "t1"."level",
    "t1"."index_0" AS "one",
    "t1"."index_0" AS "t_0"
  FROM (
    SELECT
      CAST(FLOOR(
        CASE
          WHEN (
            "t0"."age" * CAST(0.0 AS DOUBLE)
          ) = CAST(0.0 AS DOUBLE)
          THEN CASE
            WHEN "t0"."age" > CAST(100.0 AS DOUBLE)
            THEN CAST(100.0 AS DOUBLE)
            ELSE CASE
              WHEN "t0"."age" < CAST(0.0 AS DOUBLE)
              THEN CAST(0.0 AS DOUBLE)
              ELSE "t0"."age"
            END
          END
          ELSE NULL
        END + CAST(0.5 AS DOUBLE)
      ) AS BIGINT) AS "index_0",
      CASE
        WHEN CAST("t0"."sex" AS DOUBLE) = CAST(0.0 AS DOUBLE)
        THEN 0
        ELSE CASE WHEN CAST("t0"."sex" AS DOUBLE) = CAST(1.0 AS DOUBLE) THEN 1 ELSE -1 END
      END AS "level"
    FROM "people" AS "t0"
  ) AS "t1"
) AS "t2"
GROUP BY
  1;

-- bands
SELECT
  "t2"."level",
  COUNT(*) AS "records",
  COUNT("t2"."one") AS "sum_0",
  SUM("t2"."t_0") AS "sum_1",
  SUM("t2"."t_0" * "t2"."t_0") AS "sum_2"
FROM (
  SELECT
    "t1"."level",
    "t1"."index_0" AS "one",
    "t1"."index_0" AS "t_0"
  FROM (
    SELECT
      CAST(FLOOR(
        (
          CASE
            WHEN (
              "t0"."pay" * CAST(0.0 AS DOUBLE)
            ) = CAST(0.0 AS DOUBLE)
            THEN CASE
              WHEN "t0"."pay" > CAST(1000.0 AS DOUBLE)
              THEN CAST(1000.0 AS DOUBLE)
              ELSE CASE
                WHEN "t0"."pay" < CAST(0.0 AS DOUBLE)
                THEN CAST(0.0 AS DOUBLE)
                ELSE "t0"."pay"
              END
            END
            ELSE NULL
          END / (
            (
              "t0"."pay" * CAST(0.0 AS DOUBLE)
            ) + CAST(0.00095367431640625 AS DOUBLE)
          )
        ) + CAST(0.5 AS DOUBLE)
      ) AS BIGINT) AS "index_0",
      CASE
        WHEN (
          (
            "t0"."age" * CAST(0.0 AS DOUBLE)
          ) = CAST(0.0 AS DOUBLE)
        )
        AND (
          "t0"."age" >= CAST(0.0 AS DOUBLE)
        )
        AND (
          "t0"."age" <= CAST(60.0 AS DOUBLE)
        )
        THEN CASE WHEN "t0"."age" < CAST(30.0 AS DOUBLE) THEN 0 ELSE 1 END
        ELSE -1
      END AS "level"
    FROM "people" AS "t0"
  ) AS "t1"
) AS "t2"
GROUP BY
  1;

-- sums of squares beyond 64 bits
SELECT
  "t3"."level",
  COUNT(*) AS "records",
  COUNT("t3"."one") AS "sum_0",
  SUM("t3"."t_0") AS "sum_1",
  SUM(CAST("t3"."t_0" AS DECIMAL(38, 0)) * "t3"."t_0") AS "sum_2"
FROM (
  SELECT
    "t2"."level",
    "t2"."index_0" AS "one",
    "t2"."index_0" AS "t_0"
  FROM (
    SELECT
      CAST(FLOOR(
        (
          CASE
            WHEN (
              "t1"."age" * CAST(0.0 AS DOUBLE)
            ) = CAST(0.0 AS DOUBLE)
            THEN CASE
              WHEN "t1"."age" > CAST(100.0 AS DOUBLE)
              THEN CAST(100.0 AS DOUBLE)
              ELSE CASE
                WHEN "t1"."age" < CAST(0.0 AS DOUBLE)
                THEN CAST(0.0 AS DOUBLE)
                ELSE "t1"."age"
              END
            END
            ELSE NULL
          END / (
            (
              "t1"."age" * CAST(0.0 AS DOUBLE)
            ) + CAST(9.094947017729282e-11 AS DOUBLE)
          )
        ) + CAST(0.5 AS DOUBLE)
      ) AS BIGINT) AS "index_0",
      CASE
        WHEN "t1"."job" = 'nurse'
        THEN 0
        ELSE CASE
          WHEN "t1"."job" = 'O\'Brien \\ so\n"n"'
          THEN 1
          ELSE CASE WHEN "t1"."job" = 'é' THEN 2 ELSE -1 END
        END
      END AS "level"
    FROM (
      SELECT
        "t0"."age",
        (
          COLLATE("t0"."job", 'utf8')
        ) AS "job"
      FROM "people" AS "t0"
    ) AS "t1"
  ) AS "t2"
) AS "t3"
GROUP BY
  1;

-- cross moments
SELECT
  "t3"."level",
  COUNT(*) AS "records",
  COUNT("t3"."one") AS "sum_0",
  SUM("t3"."t_0") AS "sum_1",
  SUM("t3"."t_0" * "t3"."t_0") AS "sum_2",
  SUM("t3"."t_1" * "t3"."t_0") AS "sum_3",
  SUM("t3"."t_1" * "t3"."t_1") AS "sum_4"
FROM (
  SELECT
    "t2"."level",
    CASE WHEN "t2"."counts" THEN 1 ELSE NULL END AS "one",
    CASE WHEN "t2"."counts" THEN "t2"."index_0" ELSE 0 END AS "t_0",
    CASE WHEN "t2"."counts" THEN "t2"."index_1" ELSE 0 END AS "t_1"
  FROM (
    SELECT
      "t1"."index_0",
      "t1"."index_1",
      "t1"."level",
      (
        "t1"."index_0" >= 0
      ) AND (
        "t1"."index_1" >= 0
      ) AS "counts"
    FROM (
      SELECT
        CAST(FLOOR(
          CASE
            WHEN (
              "t0"."age" * CAST(0.0 AS DOUBLE)
            ) = CAST(0.0 AS DOUBLE)
            THEN CASE
              WHEN "t0"."age" > CAST(100.0 AS DOUBLE)
              THEN CAST(100.0 AS DOUBLE)
              ELSE CASE
                WHEN "t0"."age" < CAST(0.0 AS DOUBLE)
                THEN CAST(0.0 AS DOUBLE)
                ELSE "t0"."age"
              END
            END
            ELSE NULL
          END + CAST(0.5 AS DOUBLE)
        ) AS BIGINT) AS "index_0",
        CAST(FLOOR(
          (
            CASE
              WHEN (
                "t0"."pay" * CAST(0.0 AS DOUBLE)
              ) = CAST(0.0 AS DOUBLE)
              THEN CASE
                WHEN "t0"."pay" > CAST(1000.0 AS DOUBLE)
                THEN CAST(1000.0 AS DOUBLE)
                ELSE CASE
                  WHEN "t0"."pay" < CAST(0.0 AS DOUBLE)
                  THEN CAST(0.0 AS DOUBLE)
                  ELSE "t0"."pay"
                END
              END
              ELSE NULL
            END / (
              (
                "t0"."pay" * CAST(0.0 AS DOUBLE)
              ) + CAST(0.125 AS DOUBLE)
            )
          ) + CAST(0.5 AS DOUBLE)
        ) AS BIGINT) AS "index_1",
        CASE
          WHEN CAST("t0"."sex" AS DOUBLE) = CAST(0.0 AS DOUBLE)
          THEN 0
          ELSE CASE WHEN CAST("t0"."sex" AS DOUBLE) = CAST(1.0 AS DOUBLE) THEN 1 ELSE -1 END
        END AS "level"
      FROM "people" AS "t0"
    ) AS "t1"
  ) AS "t2"
) AS "t3"
GROUP BY
  1;

-- decimals and booleans
SELECT
  COUNT(*) AS "records",
  COUNT("t3"."one") AS "sum_0",
  SUM("t3"."t_0") AS "sum_1",
  SUM("t3"."t_0" * "t3"."t_0") AS "sum_2",
  SUM("t3"."t_0" * "t3"."t_1") AS "sum_3",
  SUM("t3"."t_1" * "t3"."t_1") AS "sum_4"
FROM (
  SELECT
    "t2"."level",
    "t2"."index_0" AS "one",
    "t2"."index_0" AS "t_0",
    CASE
      WHEN (
        "t2"."index_0" >= 0
      ) AND (
        "t2"."index_1" >= 0
      )
      THEN "t2"."index_1"
      ELSE 0
    END AS "t_1"
  FROM (
    SELECT
      CAST(FLOOR(
        (
          CASE
            WHEN (
              "t1"."value_0" * CAST(0.0 AS DOUBLE)
            ) = CAST(0.0 AS DOUBLE)
            THEN CASE
              WHEN "t1"."value_0" > CAST(50.0 AS DOUBLE)
              THEN CAST(50.0 AS DOUBLE)
              ELSE CASE
                WHEN "t1"."value_0" < CAST(0.0 AS DOUBLE)
                THEN CAST(0.0 AS DOUBLE)
                ELSE "t1"."value_0"
              END
            END
            ELSE NULL
          END / (
            (
              "t1"."value_0" * CAST(0.0 AS DOUBLE)
            ) + CAST(0.5 AS DOUBLE)
          )
        ) + CAST(0.5 AS DOUBLE)
      ) AS BIGINT) AS "index_0",
      CASE
        WHEN (
          "t1"."value_1" * CAST(0.0 AS DOUBLE)
        ) = CAST(0.0 AS DOUBLE)
        THEN CASE WHEN "t1"."value_1" = CAST(1.0 AS DOUBLE) THEN 1 ELSE 0 END
        ELSE CAST(NULL AS BIGINT)
      END AS "index_1",
      0 AS "level"
    FROM (
      SELECT
        CAST(CASE
          WHEN (
            "t0"."rate" > -CAST(1E-300 AS DOUBLE)
          )
          AND (
            "t0"."rate" < CAST(1e-300 AS DOUBLE)
          )
          THEN 0
          ELSE CASE
            WHEN (
              "t0"."rate" > -CAST(1E+300 AS DOUBLE)
            )
            AND (
              "t0"."rate" < CAST(1e+300 AS DOUBLE)
            )
            THEN "t0"."rate"
            ELSE NULL
          END
        END AS DOUBLE) AS "value_0",
        CASE
          WHEN "t0"."employed"
          THEN CAST(1.0 AS DOUBLE)
          ELSE CASE WHEN NOT (
            "t0"."employed"
          ) THEN CAST(0.0 AS DOUBLE) ELSE NULL END
        END AS "value_1"
      FROM "people" AS "t0"
    ) AS "t1"
  ) AS "t2"
) AS "t3";

-- weighted
SELECT
  COUNT(*) AS "records",
  COUNT("t4"."one") AS "sum_0",
  SUM("t4"."t_0") AS "sum_1",
  SUM("t4"."t_0" * "t4"."t_0") AS "sum_2",
  SUM("t4"."t_1" * "t4"."t_0") AS "sum_3",
  SUM("t4"."t_1" * "t4"."t_1") AS "sum_4"
FROM (
  SELECT
    "t3"."level",
    CASE WHEN "t3"."counts" THEN 1 ELSE NULL END AS "one",
    CASE WHEN "t3"."counts" THEN "t3"."index_0" ELSE 0 END AS "t_0",
    CASE WHEN "t3"."counts" THEN "t3"."index_1" ELSE 0 END AS "t_1"
  FROM (
    SELECT
      "t2"."index_0",
      "t2"."index_1",
      "t2"."level",
      (
        "t2"."index_0" >= 0
      ) AND (
        "t2"."index_1" >= 0
      ) AS "counts"
    FROM (
      SELECT
        "t1"."index_0",
        CASE WHEN "t1"."index_1" >= 0 THEN "t1"."index_0" * "t1"."index_1" ELSE -1 END AS "index_1",
        "t1"."level"
      FROM (
        SELECT
          CAST(FLOOR(
            COALESCE(
              (
                CASE
                  WHEN (
                    "t0"."w" * CAST(0.0 AS DOUBLE)
                  ) = CAST(0.0 AS DOUBLE)
                  THEN CASE
                    WHEN "t0"."w" > CAST(8.0 AS DOUBLE)
                    THEN CAST(8.0 AS DOUBLE)
                    ELSE CASE WHEN "t0"."w" < CAST(0.0 AS DOUBLE) THEN CAST(0.0 AS DOUBLE) ELSE "t0"."w" END
                  END
                  ELSE NULL
                END / (
                  (
                    "t0"."w" * CAST(0.0 AS DOUBLE)
                  ) + CAST(0.5 AS DOUBLE)
                )
              ) + CAST(0.5 AS DOUBLE),
              CAST(0.0 AS DOUBLE)
            )
          ) AS BIGINT) AS "index_0",
          CAST(FLOOR(
            (
              CASE
                WHEN (
                  "t0"."pay" * CAST(0.0 AS DOUBLE)
                ) = CAST(0.0 AS DOUBLE)
                THEN CASE
                  WHEN "t0"."pay" > CAST(1000.0 AS DOUBLE)
                  THEN CAST(1000.0 AS DOUBLE)
                  ELSE CASE
                    WHEN "t0"."pay" < CAST(0.0 AS DOUBLE)
                    THEN CAST(0.0 AS DOUBLE)
                    ELSE "t0"."pay"
                  END
                END
                ELSE NULL
              END / (
                (
                  "t0"."pay" * CAST(0.0 AS DOUBLE)
                ) + CAST(0.125 AS DOUBLE)
              )
            ) + CAST(0.5 AS DOUBLE)
          ) AS BIGINT) AS "index_1",
          0 AS "level"
        FROM "people" AS "t0"
      ) AS "t1"
    ) AS "t2"
  ) AS "t3"
) AS "t4";

-- a product of values
SELECT
  COUNT(*) AS "records",
  COUNT("t3"."one") AS "sum_0",
  SUM("t3"."t_0") AS "sum_1",
  SUM("t3"."t_0" * "t3"."t_0") AS "sum_2",
  SUM("t3"."t_0" * "t3"."t_1") AS "sum_3",
  SUM("t3"."t_1" * "t3"."t_1") AS "sum_4"
FROM (
  SELECT
    "t2"."level",
    CASE WHEN "t2"."index_0" >= 0 THEN 1 ELSE NULL END AS "one",
    CASE WHEN "t2"."index_0" >= 0 THEN "t2"."index_0" ELSE 0 END AS "t_0",
    CASE
      WHEN (
        "t2"."index_0" >= 0
      ) AND (
        "t2"."index_1" >= 0
      )
      THEN "t2"."index_1"
      ELSE 0
    END AS "t_1"
  FROM (
    SELECT
      CASE
        WHEN (
          "t1"."index_0" >= 0
        )
        AND (
          "t1"."index_1" >= 0
        )
        AND (
          "t1"."index_2" >= 0
        )
        THEN (
          (
            (
              "t1"."index_0" * 2
            ) - 100
          ) * 1 * (
            (
              "t1"."index_0" * 2
            ) - 100
          ) * (
            (
              "t1"."index_1" * 2
            ) - 8000
          ) * "t1"."index_2"
        ) + 80000000
        ELSE -1
      END AS "index_0",
      "t1"."index_1",
      "t1"."level"
    FROM (
      SELECT
        CAST(FLOOR(
          CASE
            WHEN (
              "t0"."age" * CAST(0.0 AS DOUBLE)
            ) = CAST(0.0 AS DOUBLE)
            THEN CASE
              WHEN "t0"."age" > CAST(100.0 AS DOUBLE)
              THEN CAST(100.0 AS DOUBLE)
              ELSE CASE
                WHEN "t0"."age" < CAST(0.0 AS DOUBLE)
                THEN CAST(0.0 AS DOUBLE)
                ELSE "t0"."age"
              END
            END
            ELSE NULL
          END + CAST(0.5 AS DOUBLE)
        ) AS BIGINT) AS "index_0",
        CAST(FLOOR(
          (
            CASE
              WHEN (
                "t0"."pay" * CAST(0.0 AS DOUBLE)
              ) = CAST(0.0 AS DOUBLE)
              THEN CASE
                WHEN "t0"."pay" > CAST(1000.0 AS DOUBLE)
                THEN CAST(1000.0 AS DOUBLE)
                ELSE CASE
                  WHEN "t0"."pay" < CAST(0.0 AS DOUBLE)
                  THEN CAST(0.0 AS DOUBLE)
                  ELSE "t0"."pay"
                END
              END
              ELSE NULL
            END / (
              (
                "t0"."pay" * CAST(0.0 AS DOUBLE)
              ) + CAST(0.125 AS DOUBLE)
            )
          ) + CAST(0.5 AS DOUBLE)
        ) AS BIGINT) AS "index_1",
        CASE
          WHEN (
            CAST("t0"."sex" AS DOUBLE) * CAST(0.0 AS DOUBLE)
          ) = CAST(0.0 AS DOUBLE)
          THEN CASE WHEN CAST("t0"."sex" AS DOUBLE) = CAST(1.0 AS DOUBLE) THEN 1 ELSE 0 END
          ELSE CAST(NULL AS BIGINT)
        END AS "index_2",
        0 AS "level"
      FROM "people" AS "t0"
    ) AS "t1"
  ) AS "t2"
) AS "t3";

-- counts by many groups
SELECT
  *
FROM (
  SELECT
    "t2"."key",
    COUNT(*) AS "records"
  FROM (
    SELECT
      (
        CASE
          WHEN IFF("t1"."job" IS NULL, NULL, "t1"."job" IN ('a', 'b', 'c', 'd', 'e'))
          THEN CASE
            WHEN "t1"."job" = 'a'
            THEN 0
            ELSE CASE
              WHEN "t1"."job" = 'b'
              THEN 1
              ELSE CASE
                WHEN "t1"."job" = 'c'
                THEN 2
                ELSE CASE
                  WHEN "t1"."job" = 'd'
                  THEN 3
                  ELSE CASE WHEN "t1"."job" = 'e' THEN 4 ELSE -1 END
                END
              END
            END
          END
          ELSE CASE
            WHEN "t1"."job" = 'f'
            THEN 5
            ELSE CASE
              WHEN "t1"."job" = 'g'
              THEN 6
              ELSE CASE
                WHEN "t1"."job" = 'h'
                THEN 7
                ELSE CASE
                  WHEN "t1"."job" = 'i'
                  THEN 8
                  ELSE CASE
                    WHEN "t1"."job" = 'j'
                    THEN 9
                    ELSE CASE WHEN "t1"."job" = 'k' THEN 10 ELSE -1 END
                  END
                END
              END
            END
          END
        END * 2
      ) + (
        0 + 1
      ) AS "key"
    FROM (
      SELECT
        (
          COLLATE("t0"."job", 'utf8')
        ) AS "job"
      FROM "people" AS "t0"
    ) AS "t1"
  ) AS "t2"
  GROUP BY
    1
) AS "t3";

-- into a ball
SELECT
  COUNT(*) AS "records",
  COUNT("t5"."one") AS "sum_0",
  SUM("t5"."t_0") AS "sum_1"
FROM (
  SELECT
    "t4"."level",
    CASE WHEN "t4"."counts" THEN 1 ELSE NULL END AS "one",
    CASE WHEN "t4"."counts" THEN "t4"."index_0" ELSE 0 END AS "t_0",
    CASE WHEN "t4"."counts" THEN "t4"."index_1" ELSE 0 END AS "t_1"
  FROM (
    SELECT
      "t3"."index_0",
      "t3"."index_1",
      "t3"."level",
      (
        "t3"."index_0" >= 0
      ) AND (
        "t3"."index_1" >= 0
      ) AS "counts"
    FROM (
      SELECT
        CASE
          WHEN (
            "t2"."index_0" >= 0
          ) AND (
            "t2"."index_1" >= 0
          )
          THEN CASE
            WHEN (
              (
                "t2"."index_0" * 2
              ) - 100
            ) >= 0
            THEN CASE
              WHEN (
                (
                  (
                    (
                      "t2"."index_0" * 2
                    ) - 100
                  ) * (
                    (
                      "t2"."index_0" * 2
                    ) - 100
                  )
                ) + (
                  (
                    (
                      "t2"."index_1" * 2
                    ) - 100
                  ) * (
                    (
                      "t2"."index_1" * 2
                    ) - 100
                  )
                )
              ) > 3600
              THEN CAST(FLOOR(
                CAST(ABS((
                  "t2"."index_0" * 2
                ) - 100) * 60 AS DOUBLE) / CAST(CEIL(
                  CASE
                    WHEN CAST(CASE
                      WHEN (
                        (
                          (
                            (
                              "t2"."index_0" * 2
                            ) - 100
                          ) * (
                            (
                              "t2"."index_0" * 2
                            ) - 100
                          )
                        ) + (
                          (
                            (
                              "t2"."index_1" * 2
                            ) - 100
                          ) * (
                            (
                              "t2"."index_1" * 2
                            ) - 100
                          )
                        )
                      ) > 3600
                      THEN (
                        (
                          (
                            "t2"."index_0" * 2
                          ) - 100
                        ) * (
                          (
                            "t2"."index_0" * 2
                          ) - 100
                        )
                      ) + (
                        (
                          (
                            "t2"."index_1" * 2
                          ) - 100
                        ) * (
                          (
                            "t2"."index_1" * 2
                          ) - 100
                        )
                      )
                      ELSE 1
                    END AS DOUBLE) < 0
                    THEN CAST('NaN' AS DOUBLE)
                    ELSE SQRT(
                      CAST(CASE
                        WHEN (
                          (
                            (
                              (
                                "t2"."index_0" * 2
                              ) - 100
                            ) * (
                              (
                                "t2"."index_0" * 2
                              ) - 100
                            )
                          ) + (
                            (
                              (
                                "t2"."index_1" * 2
                              ) - 100
                            ) * (
                              (
                                "t2"."index_1" * 2
                              ) - 100
                            )
                          )
                        ) > 3600
                        THEN (
                          (
                            (
                              "t2"."index_0" * 2
                            ) - 100
                          ) * (
                            (
                              "t2"."index_0" * 2
                            ) - 100
                          )
                        ) + (
                          (
                            (
                              "t2"."index_1" * 2
                            ) - 100
                          ) * (
                            (
                              "t2"."index_1" * 2
                            ) - 100
                          )
                        )
                        ELSE 1
                      END AS DOUBLE)
                    )
                  END
                ) AS BIGINT)
              ) AS BIGINT)
              ELSE ABS((
                "t2"."index_0" * 2
              ) - 100)
            END + 60
            ELSE 60 - CASE
              WHEN (
                (
                  (
                    (
                      "t2"."index_0" * 2
                    ) - 100
                  ) * (
                    (
                      "t2"."index_0" * 2
                    ) - 100
                  )
                ) + (
                  (
                    (
                      "t2"."index_1" * 2
                    ) - 100
                  ) * (
                    (
                      "t2"."index_1" * 2
                    ) - 100
                  )
                )
              ) > 3600
              THEN CAST(FLOOR(
                CAST(ABS((
                  "t2"."index_0" * 2
                ) - 100) * 60 AS DOUBLE) / CAST(CEIL(
                  CASE
                    WHEN CAST(CASE
                      WHEN (
                        (
                          (
                            (
                              "t2"."index_0" * 2
                            ) - 100
                          ) * (
                            (
                              "t2"."index_0" * 2
                            ) - 100
                          )
                        ) + (
                          (
                            (
                              "t2"."index_1" * 2
                            ) - 100
                          ) * (
                            (
                              "t2"."index_1" * 2
                            ) - 100
                          )
                        )
                      ) > 3600
                      THEN (
                        (
                          (
                            "t2"."index_0" * 2
                          ) - 100
                        ) * (
                          (
                            "t2"."index_0" * 2
                          ) - 100
                        )
                      ) + (
                        (
                          (
                            "t2"."index_1" * 2
                          ) - 100
                        ) * (
                          (
                            "t2"."index_1" * 2
                          ) - 100
                        )
                      )
                      ELSE 1
                    END AS DOUBLE) < 0
                    THEN CAST('NaN' AS DOUBLE)
                    ELSE SQRT(
                      CAST(CASE
                        WHEN (
                          (
                            (
                              (
                                "t2"."index_0" * 2
                              ) - 100
                            ) * (
                              (
                                "t2"."index_0" * 2
                              ) - 100
                            )
                          ) + (
                            (
                              (
                                "t2"."index_1" * 2
                              ) - 100
                            ) * (
                              (
                                "t2"."index_1" * 2
                              ) - 100
                            )
                          )
                        ) > 3600
                        THEN (
                          (
                            (
                              "t2"."index_0" * 2
                            ) - 100
                          ) * (
                            (
                              "t2"."index_0" * 2
                            ) - 100
                          )
                        ) + (
                          (
                            (
                              "t2"."index_1" * 2
                            ) - 100
                          ) * (
                            (
                              "t2"."index_1" * 2
                            ) - 100
                          )
                        )
                        ELSE 1
                      END AS DOUBLE)
                    )
                  END
                ) AS BIGINT)
              ) AS BIGINT)
              ELSE ABS((
                "t2"."index_0" * 2
              ) - 100)
            END
          END
          ELSE -1
        END AS "index_0",
        CASE
          WHEN (
            "t2"."index_0" >= 0
          ) AND (
            "t2"."index_1" >= 0
          )
          THEN CASE
            WHEN (
              (
                (
                  (
                    "t2"."index_0" * 2
                  ) - 100
                ) * (
                  (
                    "t2"."index_0" * 2
                  ) - 100
                )
              ) + (
                (
                  (
                    "t2"."index_1" * 2
                  ) - 100
                ) * (
                  (
                    "t2"."index_1" * 2
                  ) - 100
                )
              )
            ) > 3600
            THEN 1
            ELSE 0
          END
          ELSE -1
        END AS "index_1",
        "t2"."level"
      FROM (
        SELECT
          CAST(FLOOR(
            CASE
              WHEN (
                "t1"."value_0" * CAST(0.0 AS DOUBLE)
              ) = CAST(0.0 AS DOUBLE)
              THEN CASE
                WHEN "t1"."value_0" > CAST(100.0 AS DOUBLE)
                THEN CAST(100.0 AS DOUBLE)
                ELSE CASE
                  WHEN "t1"."value_0" < CAST(0.0 AS DOUBLE)
                  THEN CAST(0.0 AS DOUBLE)
                  ELSE "t1"."value_0"
                END
              END
              ELSE NULL
            END + CAST(0.5 AS DOUBLE)
          ) AS BIGINT) AS "index_0",
          CAST(FLOOR(
            (
              CASE
                WHEN (
                  "t1"."value_1" * CAST(0.0 AS DOUBLE)
                ) = CAST(0.0 AS DOUBLE)
                THEN CASE
                  WHEN "t1"."value_1" > CAST(50.0 AS DOUBLE)
                  THEN CAST(50.0 AS DOUBLE)
                  ELSE CASE
                    WHEN "t1"."value_1" < CAST(0.0 AS DOUBLE)
                    THEN CAST(0.0 AS DOUBLE)
                    ELSE "t1"."value_1"
                  END
                END
                ELSE NULL
              END / (
                (
                  "t1"."value_1" * CAST(0.0 AS DOUBLE)
                ) + CAST(0.5 AS DOUBLE)
              )
            ) + CAST(0.5 AS DOUBLE)
          ) AS BIGINT) AS "index_1",
          0 AS "level"
        FROM (
          SELECT
            "t0"."age" AS "value_0",
            CAST(CASE
              WHEN (
                "t0"."rate" > -CAST(1E-300 AS DOUBLE)
              )
              AND (
                "t0"."rate" < CAST(1e-300 AS DOUBLE)
              )
              THEN 0
              ELSE CASE
                WHEN (
                  "t0"."rate" > -CAST(1E+300 AS DOUBLE)
                )
                AND (
                  "t0"."rate" < CAST(1e+300 AS DOUBLE)
                )
                THEN "t0"."rate"
                ELSE NULL
              END
            END AS DOUBLE) AS "value_1"
          FROM "people" AS "t0"
        ) AS "t1"
      ) AS "t2"
    ) AS "t3"
  ) AS "t4"
) AS "t5";

-- clipped squares
SELECT
  COUNT(*) AS "records",
  COUNT("t3"."one") AS "sum_0",
  SUM("t3"."t_0") AS "sum_1"
FROM (
  SELECT
    "t2"."level",
    CASE WHEN "t2"."index_0" >= 0 THEN 1 ELSE NULL END AS "one",
    CASE WHEN "t2"."index_0" >= 0 THEN "t2"."index_0" ELSE 0 END AS "t_0"
  FROM (
    SELECT
      CASE
        WHEN (
          "t1"."index_0" >= 0
        ) AND (
          "t1"."index_1" >= 0
        )
        THEN CAST(FLOOR(
          CAST((
            CASE
              WHEN ABS(
                (
                  (
                    (
                      "t1"."index_1" * 2
                    ) - 8000
                  ) * -7
                ) + (
                  (
                    (
                      (
                        "t1"."index_0" * 2
                      ) - 100
                    ) * 3
                  ) + 11
                )
              ) < 512
              THEN ABS(
                (
                  (
                    (
                      "t1"."index_1" * 2
                    ) - 8000
                  ) * -7
                ) + (
                  (
                    (
                      (
                        "t1"."index_0" * 2
                      ) - 100
                    ) * 3
                  ) + 11
                )
              )
              ELSE 512
            END * 2
          ) + 1 AS DOUBLE) / CAST(2.0 AS DOUBLE)
        ) AS BIGINT) * CAST(FLOOR(
          CAST((
            CASE
              WHEN ABS(
                (
                  (
                    (
                      "t1"."index_1" * 2
                    ) - 8000
                  ) * -7
                ) + (
                  (
                    (
                      (
                        "t1"."index_0" * 2
                      ) - 100
                    ) * 3
                  ) + 11
                )
              ) < 512
              THEN ABS(
                (
                  (
                    (
                      "t1"."index_1" * 2
                    ) - 8000
                  ) * -7
                ) + (
                  (
                    (
                      (
                        "t1"."index_0" * 2
                      ) - 100
                    ) * 3
                  ) + 11
                )
              )
              ELSE 512
            END * 2
          ) + 1 AS DOUBLE) / CAST(2.0 AS DOUBLE)
        ) AS BIGINT)
        ELSE -1
      END AS "index_0",
      "t1"."level"
    FROM (
      SELECT
        CAST(FLOOR(
          CASE
            WHEN (
              "t0"."age" * CAST(0.0 AS DOUBLE)
            ) = CAST(0.0 AS DOUBLE)
            THEN CASE
              WHEN "t0"."age" > CAST(100.0 AS DOUBLE)
              THEN CAST(100.0 AS DOUBLE)
              ELSE CASE
                WHEN "t0"."age" < CAST(0.0 AS DOUBLE)
                THEN CAST(0.0 AS DOUBLE)
                ELSE "t0"."age"
              END
            END
            ELSE NULL
          END + CAST(0.5 AS DOUBLE)
        ) AS BIGINT) AS "index_0",
        CAST(FLOOR(
          (
            CASE
              WHEN (
                "t0"."pay" * CAST(0.0 AS DOUBLE)
              ) = CAST(0.0 AS DOUBLE)
              THEN CASE
                WHEN "t0"."pay" > CAST(1000.0 AS DOUBLE)
                THEN CAST(1000.0 AS DOUBLE)
                ELSE CASE
                  WHEN "t0"."pay" < CAST(0.0 AS DOUBLE)
                  THEN CAST(0.0 AS DOUBLE)
                  ELSE "t0"."pay"
                END
              END
              ELSE NULL
            END / (
              (
                "t0"."pay" * CAST(0.0 AS DOUBLE)
              ) + CAST(0.125 AS DOUBLE)
            )
          ) + CAST(0.5 AS DOUBLE)
        ) AS BIGINT) AS "index_1",
        0 AS "level"
      FROM "people" AS "t0"
    ) AS "t1"
  ) AS "t2"
) AS "t3";

-- two values of a table of counts
SELECT
  *
FROM (
  SELECT
    "t2"."key",
    COUNT(*) AS "records"
  FROM (
    SELECT
      CASE
        WHEN (
          "t1"."index_0" >= 0
        ) AND (
          "t1"."index_1" >= 0
        )
        THEN (
          "t1"."index_0" * 8001
        ) + "t1"."index_1"
        ELSE -1
      END + 1 AS "key"
    FROM (
      SELECT
        CAST(FLOOR(
          COALESCE(
            CASE
              WHEN (
                "t0"."age" * CAST(0.0 AS DOUBLE)
              ) = CAST(0.0 AS DOUBLE)
              THEN CASE
                WHEN "t0"."age" > CAST(100.0 AS DOUBLE)
                THEN CAST(100.0 AS DOUBLE)
                ELSE CASE
                  WHEN "t0"."age" < CAST(0.0 AS DOUBLE)
                  THEN CAST(0.0 AS DOUBLE)
                  ELSE "t0"."age"
                END
              END
              ELSE NULL
            END + CAST(0.5 AS DOUBLE),
            -CAST(1.0 AS DOUBLE)
          )
        ) AS BIGINT) AS "index_0",
        CAST(FLOOR(
          COALESCE(
            (
              CASE
                WHEN (
                  "t0"."pay" * CAST(0.0 AS DOUBLE)
                ) = CAST(0.0 AS DOUBLE)
                THEN CASE
                  WHEN "t0"."pay" > CAST(1000.0 AS DOUBLE)
                  THEN CAST(1000.0 AS DOUBLE)
                  ELSE CASE
                    WHEN "t0"."pay" < CAST(0.0 AS DOUBLE)
                    THEN CAST(0.0 AS DOUBLE)
                    ELSE "t0"."pay"
                  END
                END
                ELSE NULL
              END / (
                (
                  "t0"."pay" * CAST(0.0 AS DOUBLE)
                ) + CAST(0.125 AS DOUBLE)
              )
            ) + CAST(0.5 AS DOUBLE),
            -CAST(1.0 AS DOUBLE)
          )
        ) AS BIGINT) AS "index_1",
        0 AS "level"
      FROM "people" AS "t0"
    ) AS "t1"
  ) AS "t2"
  GROUP BY
    1
) AS "t3";

-- units of several rows
SELECT
  "t10"."level",
  COUNT(*) AS "records",
  COUNT("t10"."one") AS "sum_0",
  SUM("t10"."t_0") AS "sum_1",
  SUM("t10"."t_0" * "t10"."t_0") AS "sum_2"
FROM (
  SELECT
    "t9"."level",
    "t9"."sum_0" AS "t_0",
    "t9"."rows" AS "t_1",
    1 AS "one",
    1 AS "there_0",
    1 AS "there_1"
  FROM (
    SELECT
      "t8"."unit",
      "t8"."level",
      COALESCE(SUM("t8"."index_0"), 0) AS "sum_0",
      COUNT(*) AS "rows"
    FROM (
      SELECT
        *
      FROM (
        SELECT
          "t6"."unit",
          "t6"."level",
          "t6"."index_0",
          "t6"."size",
          "t6"."number",
          "t6"."named",
          "t6"."priority",
          CASE
            WHEN "t6"."priority" IS NOT NULL
            THEN (
              ROW_NUMBER() OVER (PARTITION BY "t6"."unit" ORDER BY "t6"."priority" ASC) - 1
            ) + 1
            ELSE NULL
          END AS "place"
        FROM (
          SELECT
            "t5"."unit",
            "t5"."level",
            "t5"."index_0",
            "t5"."size",
            "t5"."number",
            "t5"."named",
            (
              SHA2("t5"."named", 256)
            ) AS "priority"
          FROM (
            SELECT
              "t4"."unit",
              "t4"."level",
              "t4"."index_0",
              "t4"."size",
              "t4"."number",
              CASE
                WHEN "t4"."size" > 2
                THEN CONCAT(
                  CONCAT(
                    CONCAT(
                      CONCAT('<a secret key, drawn for this question alone>', '|', CAST("t4"."level" AS VARCHAR)),
                      '|',
                      CAST("t4"."index_0" AS VARCHAR)
                    ),
                    '|',
                    CAST("t4"."number" AS VARCHAR)
                  ),
                  '|',
                  "t4"."unit"
                )
                ELSE NULL
              END AS "named"
            FROM (
              SELECT
                "t3"."unit",
                "t3"."level",
                "t3"."index_0",
                COUNT(*) OVER (
                  PARTITION BY "t3"."unit"
                  ORDER BY NULL ASC
                  ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
                ) AS "size",
                CASE
                  WHEN "t3"."level" IS NOT NULL
                  THEN (
                    ROW_NUMBER() OVER (PARTITION BY "t3"."unit", "t3"."level", "t3"."index_0" ORDER BY "t3"."level" ASC) - 1
                  ) + 1
                  ELSE NULL
                END AS "number"
              FROM (
                SELECT
                  "t2"."unit",
                  "t2"."level",
                  "t2"."index_0"
                FROM (
                  SELECT
                    CAST(FLOOR(
                      COALESCE(
                        CASE
                          WHEN (
                            "t1"."age" * CAST(0.0 AS DOUBLE)
                          ) = CAST(0.0 AS DOUBLE)
                          THEN CASE
                            WHEN "t1"."age" > CAST(100.0 AS DOUBLE)
                            THEN CAST(100.0 AS DOUBLE)
                            ELSE CASE
                              WHEN "t1"."age" < CAST(0.0 AS DOUBLE)
                              THEN CAST(0.0 AS DOUBLE)
                              ELSE "t1"."age"
                            END
                          END
                          ELSE NULL
                        END + CAST(0.5 AS DOUBLE),
                        -CAST(1.0 AS DOUBLE)
                      )
                    ) AS BIGINT) AS "index_0",
                    CASE
                      WHEN "t1"."job" = 'nurse'
                      THEN 0
                      ELSE CASE
                        WHEN "t1"."job" = 'O\'Brien \\ so\n"n"'
                        THEN 1
                        ELSE CASE WHEN "t1"."job" = 'é' THEN 2 ELSE -1 END
                      END
                    END AS "level",
                    "t1"."name" AS "unit",
                    NOT (
                      "t1"."name" IS NULL
                    ) AS "known"
                  FROM (
                    SELECT
                      "t0"."age",
                      (
                        COLLATE("t0"."job", 'utf8')
                      ) AS "job",
                      (
                        COLLATE("t0"."name", 'utf8')
                      ) AS "name"
                    FROM "people" AS "t0"
                  ) AS "t1"
                ) AS "t2"
                WHERE
                  "t2"."known" AND "t2"."level" >= 0 AND "t2"."index_0" >= 0
              ) AS "t3"
            ) AS "t4"
          ) AS "t5"
        ) AS "t6"
      ) AS "t7"
      WHERE
        (
          "t7"."size" <= 2
        ) OR (
          "t7"."place" <= 2
        )
    ) AS "t8"
    GROUP BY
      1,
      2
  ) AS "t9"
) AS "t10"
GROUP BY
  1;

-- units counted
SELECT
  *
FROM (
  SELECT
    "t3"."key",
    COUNT(*) AS "records"
  FROM (
    SELECT
      (
        "t2"."level" * 1
      ) + (
        (
          (
            CASE WHEN "t2"."rows" < 1 THEN "t2"."rows" ELSE 1 END - 1
          ) * 1
        ) + 0
      ) AS "key"
    FROM (
      SELECT
        "t1"."unit",
        "t1"."level",
        COUNT(*) AS "rows"
      FROM (
        SELECT
          "t0"."person" AS "unit",
          0 AS "level",
          CASE WHEN "t0"."person" IS NULL THEN 0 ELSE 0 END AS "index"
        FROM "people" AS "t0"
        WHERE
          NOT (
            "t0"."person" IS NULL
          )
          AND 0 >= 0
          AND CASE WHEN "t0"."person" IS NULL THEN 0 ELSE 0 END >= 0
      ) AS "t1"
      GROUP BY
        1,
        2
    ) AS "t2"
  ) AS "t3"
  GROUP BY
    1
) AS "t4";
