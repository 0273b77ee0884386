-- count by few groups
SELECT
  *
FROM (
  SELECT
    `t1`.`key`,
    COUNT(*) AS `records`
  FROM (
    SELECT
      (
        CASE
          WHEN CAST(`t0`.`sex` AS FLOAT64) = 0.0
          THEN 0
          ELSE CASE WHEN CAST(`t0`.`sex` AS FLOAT64) = 1.0 THEN 1 ELSE -1 END
        END * 2
      ) + (
        0 + 1
      ) AS `key`
    FROM `people` AS `t0`
  ) AS `t1`
  GROUP BY
    1
) AS `t2`;

-- share where
SELECT
  *
FROM (
  SELECT
    `t2`.`key`,
    COUNT(*) AS `records`
  FROM (
    SELECT
      (
        CASE WHEN `t1`.`group_0` THEN 0 ELSE -1 END * 3
      ) + (
        CASE
          WHEN (
            `t1`.`value_0` * 0.0
          ) = 0.0
          THEN CASE WHEN `t1`.`value_0` = 1.0 THEN 1 ELSE 0 END
          ELSE -1
        END + 1
      ) AS `key`
    FROM (
      SELECT
        CAST(`t0`.`sex` AS FLOAT64) AS `value_0`,
        CASE
          WHEN (
            (
              `t0`.`age` * 0.0
            ) = 0.0
          ) AND (
            `t0`.`age` >= 25.0
          )
          THEN TRUE
          ELSE FALSE
        END AS `group_0`
      FROM `people` AS `t0`
    ) AS `t1`
    WHERE
      `t1`.`group_0`
  ) AS `t2`
  GROUP BY
    1
) AS `t3`;

-- share where
SELECT
  0 AS `key`,
  `t2`.`records`
FROM (
  SELECT
    COUNT(*) AS `records`
  FROM (
    SELECT
      CAST(`t0`.`sex` AS FLOAT64) AS `value_0`,
      CASE
        WHEN (
          (
            `t0`.`age` * 0.0
          ) = 0.0
        ) AND (
          `t0`.`age` >= 25.0
        )
        THEN TRUE
        ELSE FALSE
      END AS `group_0`
    FROM `people` AS `t0`
  ) AS `t1`
) AS `t2`;

-- mean
SELECT
  COUNT(*) AS `records`,
  COUNT(`t2`.`one`) AS `sum_0`,
  SUM(`t2`.`t_0`) AS `sum_1`,
  SUM(`t2`.`t_0` * `t2`.`t_0`) AS `sum_2`
FROM (
  SELECT
    `t1`.`level`,
    `t1`.`index_0` AS `one`,
    `t1`.`index_0` AS `t_0`
  FROM (
    SELECT
      CAST(FLOOR(
        CASE
          WHEN (
            `t0`.`age` * 0.0
          ) = 0.0
          THEN CASE
            WHEN `t0`.`age` > 100.0
            THEN 100.0
            ELSE CASE WHEN `t0`.`age` < 0.0 THEN 0.0 ELSE `t0`.`age` END
          END
          ELSE NULL
        END + 0.5
      ) AS INT64) AS `index_0`,
      0 AS `level`
    FROM `people` AS `t0`
  ) AS `t1`
) AS `t2`;

-- quantiles beside means
SELECT
  *
FROM (
  SELECT
    `t1`.`key`,
    COUNT(*) AS `records`
  FROM (
    SELECT
      (
        CASE
          WHEN CAST(`t0`.`sex` AS FLOAT64) = 0.0
          THEN 0
          ELSE CASE WHEN CAST(`t0`.`sex` AS FLOAT64) = 1.0 THEN 1 ELSE -1 END
        END * 102
      ) + (
        CAST(FLOOR(
          COALESCE(
            CASE
              WHEN (
                `t0`.`age` * 0.0
              ) = 0.0
              THEN CASE
                WHEN `t0`.`age` > 100.0
                THEN 100.0
                ELSE CASE WHEN `t0`.`age` < 0.0 THEN 0.0 ELSE `t0`.`age` END
              END
              ELSE NULL
            END + 0.5,
            -1.0
          )
        ) AS INT64) + 1
      ) AS `key`
    FROM `people` AS `t0`
  ) AS `t1`
  GROUP BY
    1
) AS `t2`;

-- quantiles beside means
SELECT
  `t2`.`level`,
  COUNT(*) AS `records`,
  COUNT(`t2`.`one`) AS `sum_0`,
  SUM(`t2`.`t_0`) AS `sum_1`,
  SUM(`t2`.`t_0` * `t2`.`t_0`) AS `sum_2`
FROM (
  SELECT
    `t1`.`level`,
    `t1`.`index_0` AS `one`,
    `t1`.`index_0` AS `t_0`
  FROM (
    SELECT
      CAST(FLOOR(
        CASE
          WHEN (
            `t0`.`age` * 0.0
          ) = 0.0
          THEN CASE
            WHEN `t0`.`age` > 100.0
            THEN 100.0
            ELSE CASE WHEN `t0`.`age` < 0.0 THEN 0.0 ELSE `t0`.`age` END
          END
          ELSE NULL
        END + 0.5
      ) AS INT64) AS `index_0`,
      CASE
        WHEN CAST(`t0`.`sex` AS FLOAT64) = 0.0
        THEN 0
        ELSE CASE WHEN CAST(`t0`.`sex` AS FLOAT64) = 1.0 THEN 1 ELSE -1 END
      END AS `level`
    FROM `people` AS `t0`
  ) AS `t1`
) AS `t2`
GROUP BY
  1;

-- bands
SELECT
  `t2`.`level`,
  COUNT(*) AS `records`,
  COUNT(`t2`.`one`) AS `sum_0`,
  SUM(`t2`.`t_0`) AS `sum_1`,
  SUM((
    `t2`.`t_0` * `t2`.`t_0`
  ) & 2097151) AS `sum_2`,
  SUM((
    `t2`.`t_0` * `t2`.`t_0`
  ) >> 21) AS `sum_3`
FROM (
  SELECT
    `t1`.`level`,
    `t1`.`index_0` AS `one`,
    `t1`.`index_0` AS `t_0`
  FROM (
    SELECT
      CAST(FLOOR(
        ieee_divide(
          CASE
            WHEN (
              `t0`.`pay` * 0.0
            ) = 0.0
            THEN CASE
              WHEN `t0`.`pay` > 1000.0
              THEN 1000.0
              ELSE CASE WHEN `t0`.`pay` < 0.0 THEN 0.0 ELSE `t0`.`pay` END
            END
            ELSE NULL
          END,
          (
            `t0`.`pay` * 0.0
          ) + 0.00095367431640625
        ) + 0.5
      ) AS INT64) AS `index_0`,
      CASE
        WHEN (
          (
            `t0`.`age` * 0.0
          ) = 0.0
        )
        AND (
          `t0`.`age` >= 0.0
        )
        AND (
          `t0`.`age` <= 60.0
        )
        THEN CASE WHEN `t0`.`age` < 30.0 THEN 0 ELSE 1 END
        ELSE -1
      END AS `level`
    FROM `people` AS `t0`
  ) AS `t1`
) AS `t2`
GROUP BY
  1;

-- sums of squares beyond 64 bits
SELECT
  `t3`.`level`,
  COUNT(*) AS `records`,
  COUNT(`t3`.`one`) AS `sum_0`,
  SUM(`t3`.`t_0` & 2097151) AS `sum_1`,
  SUM(`t3`.`t_0` >> 21) AS `sum_2`,
  SUM((
    (
      `t3`.`t_0` & 2097151
    ) * (
      `t3`.`t_0` & 2097151
    )
  ) & 2097151) AS `sum_3`,
  SUM((
    (
      `t3`.`t_0` & 2097151
    ) * (
      `t3`.`t_0` & 2097151
    )
  ) >> 21) AS `sum_4`,
  SUM(
    (
      (
        `t3`.`t_0` & 2097151
      ) * (
        (
          `t3`.`t_0` >> 21
        ) & 2097151
      )
    ) & 2097151
  ) AS `sum_5`,
  SUM(
    (
      (
        `t3`.`t_0` & 2097151
      ) * (
        (
          `t3`.`t_0` >> 21
        ) & 2097151
      )
    ) >> 21
  ) AS `sum_6`,
  SUM((
    (
      `t3`.`t_0` & 2097151
    ) * (
      `t3`.`t_0` >> 42
    )
  ) & 2097151) AS `sum_7`,
  SUM((
    (
      `t3`.`t_0` & 2097151
    ) * (
      `t3`.`t_0` >> 42
    )
  ) >> 21) AS `sum_8`,
  SUM(
    (
      (
        (
          `t3`.`t_0` >> 21
        ) & 2097151
      ) * (
        `t3`.`t_0` & 2097151
      )
    ) & 2097151
  ) AS `sum_9`,
  SUM(
    (
      (
        (
          `t3`.`t_0` >> 21
        ) & 2097151
      ) * (
        `t3`.`t_0` & 2097151
      )
    ) >> 21
  ) AS `sum_10`,
  SUM(
    (
      (
        (
          `t3`.`t_0` >> 21
        ) & 2097151
      ) * (
        (
          `t3`.`t_0` >> 21
        ) & 2097151
      )
    ) & 2097151
  ) AS `sum_11`,
  SUM(
    (
      (
        (
          `t3`.`t_0` >> 21
        ) & 2097151
      ) * (
        (
          `t3`.`t_0` >> 21
        ) & 2097151
      )
    ) >> 21
  ) AS `sum_12`,
  SUM(
    (
      (
        (
          `t3`.`t_0` >> 21
        ) & 2097151
      ) * (
        `t3`.`t_0` >> 42
      )
    ) & 2097151
  ) AS `sum_13`,
  SUM(
    (
      (
        (
          `t3`.`t_0` >> 21
        ) & 2097151
      ) * (
        `t3`.`t_0` >> 42
      )
    ) >> 21
  ) AS `sum_14`,
  SUM((
    (
      `t3`.`t_0` >> 42
    ) * (
      `t3`.`t_0` & 2097151
    )
  ) & 2097151) AS `sum_15`,
  SUM((
    (
      `t3`.`t_0` >> 42
    ) * (
      `t3`.`t_0` & 2097151
    )
  ) >> 21) AS `sum_16`,
  SUM(
    (
      (
        `t3`.`t_0` >> 42
      ) * (
        (
          `t3`.`t_0` >> 21
        ) & 2097151
      )
    ) & 2097151
  ) AS `sum_17`,
  SUM(
    (
      (
        `t3`.`t_0` >> 42
      ) * (
        (
          `t3`.`t_0` >> 21
        ) & 2097151
      )
    ) >> 21
  ) AS `sum_18`,
  SUM((
    (
      `t3`.`t_0` >> 42
    ) * (
      `t3`.`t_0` >> 42
    )
  ) & 2097151) AS `sum_19`,
  SUM((
    (
      `t3`.`t_0` >> 42
    ) * (
      `t3`.`t_0` >> 42
    )
  ) >> 21) AS `sum_20`
FROM (
  SELECT
    `t2`.`level`,
    `t2`.`index_0` AS `one`,
    `t2`.`index_0` AS `t_0`
  FROM (
    SELECT
      CAST(FLOOR(
        ieee_divide(
          CASE
            WHEN (
              `t1`.`age` * 0.0
            ) = 0.0
            THEN CASE
              WHEN `t1`.`age` > 100.0
              THEN 100.0
              ELSE CASE WHEN `t1`.`age` < 0.0 THEN 0.0 ELSE `t1`.`age` END
            END
            ELSE NULL
          END,
          (
            `t1`.`age` * 0.0
          ) + 9.094947017729282e-11
        ) + 0.5
      ) AS INT64) AS `index_0`,
      CASE
        WHEN `t1`.`job` = 'nurse'
        THEN 0
        ELSE CASE
          WHEN `t1`.`job` = 'O\'Brien \\ so\n"n"'
          THEN 1
          ELSE CASE WHEN `t1`.`job` = 'é' THEN 2 ELSE -1 END
        END
      END AS `level`
    FROM (
      SELECT
        `t0`.`age`,
        (
          CAST(CAST(`t0`.`job` AS BYTES) AS STRING)
        ) AS `job`
      FROM `people` AS `t0`
    ) AS `t1`
  ) AS `t2`
) AS `t3`
GROUP BY
  1;

-- cross moments
SELECT
  `t3`.`level`,
  COUNT(*) AS `records`,
  COUNT(`t3`.`one`) AS `sum_0`,
  SUM(`t3`.`t_0`) AS `sum_1`,
  SUM(`t3`.`t_0` * `t3`.`t_0`) AS `sum_2`,
  SUM(`t3`.`t_1` * `t3`.`t_0`) AS `sum_3`,
  SUM((
    `t3`.`t_1` * `t3`.`t_1`
  ) & 2097151) AS `sum_4`,
  SUM((
    `t3`.`t_1` * `t3`.`t_1`
  ) >> 21) AS `sum_5`
FROM (
  SELECT
    `t2`.`level`,
    CASE WHEN `t2`.`counts` THEN 1 ELSE NULL END AS `one`,
    CASE WHEN `t2`.`counts` THEN `t2`.`index_0` ELSE 0 END AS `t_0`,
    CASE WHEN `t2`.`counts` THEN `t2`.`index_1` ELSE 0 END AS `t_1`
  FROM (
    SELECT
      `t1`.`index_0`,
      `t1`.`index_1`,
      `t1`.`level`,
      (
        `t1`.`index_0` >= 0
      ) AND (
        `t1`.`index_1` >= 0
      ) AS `counts`
    FROM (
      SELECT
        CAST(FLOOR(
          CASE
            WHEN (
              `t0`.`age` * 0.0
            ) = 0.0
            THEN CASE
              WHEN `t0`.`age` > 100.0
              THEN 100.0
              ELSE CASE WHEN `t0`.`age` < 0.0 THEN 0.0 ELSE `t0`.`age` END
            END
            ELSE NULL
          END + 0.5
        ) AS INT64) AS `index_0`,
        CAST(FLOOR(
          ieee_divide(
            CASE
              WHEN (
                `t0`.`pay` * 0.0
              ) = 0.0
              THEN CASE
                WHEN `t0`.`pay` > 1000.0
                THEN 1000.0
                ELSE CASE WHEN `t0`.`pay` < 0.0 THEN 0.0 ELSE `t0`.`pay` END
              END
              ELSE NULL
            END,
            (
              `t0`.`pay` * 0.0
            ) + 0.125
          ) + 0.5
        ) AS INT64) AS `index_1`,
        CASE
          WHEN CAST(`t0`.`sex` AS FLOAT64) = 0.0
          THEN 0
          ELSE CASE WHEN CAST(`t0`.`sex` AS FLOAT64) = 1.0 THEN 1 ELSE -1 END
        END AS `level`
      FROM `people` AS `t0`
    ) AS `t1`
  ) AS `t2`
) AS `t3`
GROUP BY
  1;

-- decimals and booleans
SELECT
  COUNT(*) AS `records`,
  COUNT(`t3`.`one`) AS `sum_0`,
  SUM(`t3`.`t_0`) AS `sum_1`,
  SUM(`t3`.`t_0` * `t3`.`t_0`) AS `sum_2`,
  SUM(`t3`.`t_0` * `t3`.`t_1`) AS `sum_3`,
  SUM(`t3`.`t_1` * `t3`.`t_1`) AS `sum_4`
FROM (
  SELECT
    `t2`.`level`,
    `t2`.`index_0` AS `one`,
    `t2`.`index_0` AS `t_0`,
    CASE
      WHEN (
        `t2`.`index_0` >= 0
      ) AND (
        `t2`.`index_1` >= 0
      )
      THEN `t2`.`index_1`
      ELSE 0
    END AS `t_1`
  FROM (
    SELECT
      CAST(FLOOR(
        ieee_divide(
          CASE
            WHEN (
              `t1`.`value_0` * 0.0
            ) = 0.0
            THEN CASE
              WHEN `t1`.`value_0` > 50.0
              THEN 50.0
              ELSE CASE WHEN `t1`.`value_0` < 0.0 THEN 0.0 ELSE `t1`.`value_0` END
            END
            ELSE NULL
          END,
          (
            `t1`.`value_0` * 0.0
          ) + 0.5
        ) + 0.5
      ) AS INT64) AS `index_0`,
      CASE
        WHEN (
          `t1`.`value_1` * 0.0
        ) = 0.0
        THEN CASE WHEN `t1`.`value_1` = 1.0 THEN 1 ELSE 0 END
        ELSE CAST(NULL AS INT64)
      END AS `index_1`,
      0 AS `level`
    FROM (
      SELECT
        CAST(CASE
          WHEN (
            `t0`.`rate` > -1E-300
          ) AND (
            `t0`.`rate` < 1e-300
          )
          THEN 0
          ELSE CASE
            WHEN (
              `t0`.`rate` > -1E+300
            ) AND (
              `t0`.`rate` < 1e+300
            )
            THEN `t0`.`rate`
            ELSE NULL
          END
        END AS FLOAT64) AS `value_0`,
        CASE
          WHEN `t0`.`employed`
          THEN 1.0
          ELSE CASE WHEN NOT (
            `t0`.`employed`
          ) THEN 0.0 ELSE NULL END
        END AS `value_1`
      FROM `people` AS `t0`
    ) AS `t1`
  ) AS `t2`
) AS `t3`;

-- weighted
SELECT
  COUNT(*) AS `records`,
  COUNT(`t4`.`one`) AS `sum_0`,
  SUM(`t4`.`t_0`) AS `sum_1`,
  SUM(`t4`.`t_0` * `t4`.`t_0`) AS `sum_2`,
  SUM(`t4`.`t_1` * `t4`.`t_0`) AS `sum_3`,
  SUM((
    `t4`.`t_1` * `t4`.`t_1`
  ) & 2097151) AS `sum_4`,
  SUM((
    `t4`.`t_1` * `t4`.`t_1`
  ) >> 21) AS `sum_5`
FROM (
  SELECT
    `t3`.`level`,
    CASE WHEN `t3`.`counts` THEN 1 ELSE NULL END AS `one`,
    CASE WHEN `t3`.`counts` THEN `t3`.`index_0` ELSE 0 END AS `t_0`,
    CASE WHEN `t3`.`counts` THEN `t3`.`index_1` ELSE 0 END AS `t_1`
  FROM (
    SELECT
      `t2`.`index_0`,
      `t2`.`index_1`,
      `t2`.`level`,
      (
        `t2`.`index_0` >= 0
      ) AND (
        `t2`.`index_1` >= 0
      ) AS `counts`
    FROM (
      SELECT
        `t1`.`index_0`,
        CASE WHEN `t1`.`index_1` >= 0 THEN `t1`.`index_0` * `t1`.`index_1` ELSE -1 END AS `index_1`,
        `t1`.`level`
      FROM (
        SELECT
          CAST(FLOOR(
            COALESCE(
              ieee_divide(
                CASE
                  WHEN (
                    `t0`.`w` * 0.0
                  ) = 0.0
                  THEN CASE
                    WHEN `t0`.`w` > 8.0
                    THEN 8.0
                    ELSE CASE WHEN `t0`.`w` < 0.0 THEN 0.0 ELSE `t0`.`w` END
                  END
                  ELSE NULL
                END,
                (
                  `t0`.`w` * 0.0
                ) + 0.5
              ) + 0.5,
              0.0
            )
          ) AS INT64) AS `index_0`,
          CAST(FLOOR(
            ieee_divide(
              CASE
                WHEN (
                  `t0`.`pay` * 0.0
                ) = 0.0
                THEN CASE
                  WHEN `t0`.`pay` > 1000.0
                  THEN 1000.0
                  ELSE CASE WHEN `t0`.`pay` < 0.0 THEN 0.0 ELSE `t0`.`pay` END
                END
                ELSE NULL
              END,
              (
                `t0`.`pay` * 0.0
              ) + 0.125
            ) + 0.5
          ) AS INT64) AS `index_1`,
          0 AS `level`
        FROM `people` AS `t0`
      ) AS `t1`
    ) AS `t2`
  ) AS `t3`
) AS `t4`;

-- a product of values
SELECT
  COUNT(*) AS `records`,
  COUNT(`t3`.`one`) AS `sum_0`,
  SUM(`t3`.`t_0` & 2097151) AS `sum_1`,
  SUM(`t3`.`t_0` >> 21) AS `sum_2`,
  SUM((
    `t3`.`t_0` * `t3`.`t_0`
  ) & 2097151) AS `sum_3`,
  SUM((
    (
      `t3`.`t_0` * `t3`.`t_0`
    ) >> 21
  ) & 2097151) AS `sum_4`,
  SUM((
    `t3`.`t_0` * `t3`.`t_0`
  ) >> 42) AS `sum_5`,
  SUM((
    `t3`.`t_0` * `t3`.`t_1`
  ) & 2097151) AS `sum_6`,
  SUM((
    `t3`.`t_0` * `t3`.`t_1`
  ) >> 21) AS `sum_7`,
  SUM((
    `t3`.`t_1` * `t3`.`t_1`
  ) & 2097151) AS `sum_8`,
  SUM((
    `t3`.`t_1` * `t3`.`t_1`
  ) >> 21) AS `sum_9`
FROM (
  SELECT
    `t2`.`level`,
    CASE WHEN `t2`.`index_0` >= 0 THEN 1 ELSE NULL END AS `one`,
    CASE WHEN `t2`.`index_0` >= 0 THEN `t2`.`index_0` ELSE 0 END AS `t_0`,
    CASE
      WHEN (
        `t2`.`index_0` >= 0
      ) AND (
        `t2`.`index_1` >= 0
      )
      THEN `t2`.`index_1`
      ELSE 0
    END AS `t_1`
  FROM (
    SELECT
      CASE
        WHEN (
          `t1`.`index_0` >= 0
        )
        AND (
          `t1`.`index_1` >= 0
        )
        AND (
          `t1`.`index_2` >= 0
        )
        THEN (
          (
            (
              `t1`.`index_0` * 2
            ) - 100
          ) * 1 * (
            (
              `t1`.`index_0` * 2
            ) - 100
          ) * (
            (
              `t1`.`index_1` * 2
            ) - 8000
          ) * `t1`.`index_2`
        ) + 80000000
        ELSE -1
      END AS `index_0`,
      `t1`.`index_1`,
      `t1`.`level`
    FROM (
      SELECT
        CAST(FLOOR(
          CASE
            WHEN (
              `t0`.`age` * 0.0
            ) = 0.0
            THEN CASE
              WHEN `t0`.`age` > 100.0
              THEN 100.0
              ELSE CASE WHEN `t0`.`age` < 0.0 THEN 0.0 ELSE `t0`.`age` END
            END
            ELSE NULL
          END + 0.5
        ) AS INT64) AS `index_0`,
        CAST(FLOOR(
          ieee_divide(
            CASE
              WHEN (
                `t0`.`pay` * 0.0
              ) = 0.0
              THEN CASE
                WHEN `t0`.`pay` > 1000.0
                THEN 1000.0
                ELSE CASE WHEN `t0`.`pay` < 0.0 THEN 0.0 ELSE `t0`.`pay` END
              END
              ELSE NULL
            END,
            (
              `t0`.`pay` * 0.0
            ) + 0.125
          ) + 0.5
        ) AS INT64) AS `index_1`,
        CASE
          WHEN (
            CAST(`t0`.`sex` AS FLOAT64) * 0.0
          ) = 0.0
          THEN CASE WHEN CAST(`t0`.`sex` AS FLOAT64) = 1.0 THEN 1 ELSE 0 END
          ELSE CAST(NULL AS INT64)
        END AS `index_2`,
        0 AS `level`
      FROM `people` AS `t0`
    ) AS `t1`
  ) AS `t2`
) AS `t3`;

-- counts by many groups
SELECT
  *
FROM (
  SELECT
    `t2`.`key`,
    COUNT(*) AS `records`
  FROM (
    SELECT
      (
        CASE
          WHEN IF(`t1`.`job` IS NULL, NULL, `t1`.`job` IN ('a', 'b', 'c', 'd', 'e'))
          THEN CASE
            WHEN `t1`.`job` = 'a'
            THEN 0
            ELSE CASE
              WHEN `t1`.`job` = 'b'
              THEN 1
              ELSE CASE
                WHEN `t1`.`job` = 'c'
                THEN 2
                ELSE CASE
                  WHEN `t1`.`job` = 'd'
                  THEN 3
                  ELSE CASE WHEN `t1`.`job` = 'e' THEN 4 ELSE -1 END
                END
              END
            END
          END
          ELSE CASE
            WHEN `t1`.`job` = 'f'
            THEN 5
            ELSE CASE
              WHEN `t1`.`job` = 'g'
              THEN 6
              ELSE CASE
                WHEN `t1`.`job` = 'h'
                THEN 7
                ELSE CASE
                  WHEN `t1`.`job` = 'i'
                  THEN 8
                  ELSE CASE
                    WHEN `t1`.`job` = 'j'
                    THEN 9
                    ELSE CASE WHEN `t1`.`job` = 'k' THEN 10 ELSE -1 END
                  END
                END
              END
            END
          END
        END * 2
      ) + (
        0 + 1
      ) AS `key`
    FROM (
      SELECT
        (
          CAST(CAST(`t0`.`job` AS BYTES) AS STRING)
        ) AS `job`
      FROM `people` AS `t0`
    ) AS `t1`
  ) AS `t2`
  GROUP BY
    1
) AS `t3`;

-- into a ball
SELECT
  COUNT(*) AS `records`,
  COUNT(`t5`.`one`) AS `sum_0`,
  SUM(`t5`.`t_0`) AS `sum_1`
FROM (
  SELECT
    `t4`.`level`,
    CASE WHEN `t4`.`counts` THEN 1 ELSE NULL END AS `one`,
    CASE WHEN `t4`.`counts` THEN `t4`.`index_0` ELSE 0 END AS `t_0`,
    CASE WHEN `t4`.`counts` THEN `t4`.`index_1` ELSE 0 END AS `t_1`
  FROM (
    SELECT
      `t3`.`index_0`,
      `t3`.`index_1`,
      `t3`.`level`,
      (
        `t3`.`index_0` >= 0
      ) AND (
        `t3`.`index_1` >= 0
      ) AS `counts`
    FROM (
      SELECT
        CASE
          WHEN (
            `t2`.`index_0` >= 0
          ) AND (
            `t2`.`index_1` >= 0
          )
          THEN CASE
            WHEN (
              (
                `t2`.`index_0` * 2
              ) - 100
            ) >= 0
            THEN CASE
              WHEN (
                (
                  (
                    (
                      `t2`.`index_0` * 2
                    ) - 100
                  ) * (
                    (
                      `t2`.`index_0` * 2
                    ) - 100
                  )
                ) + (
                  (
                    (
                      `t2`.`index_1` * 2
                    ) - 100
                  ) * (
                    (
                      `t2`.`index_1` * 2
                    ) - 100
                  )
                )
              ) > 3600
              THEN CAST(FLOOR(
                ieee_divide(
                  CAST(ABS((
                    `t2`.`index_0` * 2
                  ) - 100) * 60 AS FLOAT64),
                  CAST(CEIL(
                    CASE
                      WHEN CAST(CASE
                        WHEN (
                          (
                            (
                              (
                                `t2`.`index_0` * 2
                              ) - 100
                            ) * (
                              (
                                `t2`.`index_0` * 2
                              ) - 100
                            )
                          ) + (
                            (
                              (
                                `t2`.`index_1` * 2
                              ) - 100
                            ) * (
                              (
                                `t2`.`index_1` * 2
                              ) - 100
                            )
                          )
                        ) > 3600
                        THEN (
                          (
                            (
                              `t2`.`index_0` * 2
                            ) - 100
                          ) * (
                            (
                              `t2`.`index_0` * 2
                            ) - 100
                          )
                        ) + (
                          (
                            (
                              `t2`.`index_1` * 2
                            ) - 100
                          ) * (
                            (
                              `t2`.`index_1` * 2
                            ) - 100
                          )
                        )
                        ELSE 1
                      END AS FLOAT64) < 0
                      THEN CAST('NaN' AS FLOAT64)
                      ELSE SQRT(
                        CAST(CASE
                          WHEN (
                            (
                              (
                                (
                                  `t2`.`index_0` * 2
                                ) - 100
                              ) * (
                                (
                                  `t2`.`index_0` * 2
                                ) - 100
                              )
                            ) + (
                              (
                                (
                                  `t2`.`index_1` * 2
                                ) - 100
                              ) * (
                                (
                                  `t2`.`index_1` * 2
                                ) - 100
                              )
                            )
                          ) > 3600
                          THEN (
                            (
                              (
                                `t2`.`index_0` * 2
                              ) - 100
                            ) * (
                              (
                                `t2`.`index_0` * 2
                              ) - 100
                            )
                          ) + (
                            (
                              (
                                `t2`.`index_1` * 2
                              ) - 100
                            ) * (
                              (
                                `t2`.`index_1` * 2
                              ) - 100
                            )
                          )
                          ELSE 1
                        END AS FLOAT64)
                      )
                    END
                  ) AS INT64)
                )
              ) AS INT64)
              ELSE ABS((
                `t2`.`index_0` * 2
              ) - 100)
            END + 60
            ELSE 60 - CASE
              WHEN (
                (
                  (
                    (
                      `t2`.`index_0` * 2
                    ) - 100
                  ) * (
                    (
                      `t2`.`index_0` * 2
                    ) - 100
                  )
                ) + (
                  (
                    (
                      `t2`.`index_1` * 2
                    ) - 100
                  ) * (
                    (
                      `t2`.`index_1` * 2
                    ) - 100
                  )
                )
              ) > 3600
              THEN CAST(FLOOR(
                ieee_divide(
                  CAST(ABS((
                    `t2`.`index_0` * 2
                  ) - 100) * 60 AS FLOAT64),
                  CAST(CEIL(
                    CASE
                      WHEN CAST(CASE
                        WHEN (
                          (
                            (
                              (
                                `t2`.`index_0` * 2
                              ) - 100
                            ) * (
                              (
                                `t2`.`index_0` * 2
                              ) - 100
                            )
                          ) + (
                            (
                              (
                                `t2`.`index_1` * 2
                              ) - 100
                            ) * (
                              (
                                `t2`.`index_1` * 2
                              ) - 100
                            )
                          )
                        ) > 3600
                        THEN (
                          (
                            (
                              `t2`.`index_0` * 2
                            ) - 100
                          ) * (
                            (
                              `t2`.`index_0` * 2
                            ) - 100
                          )
                        ) + (
                          (
                            (
                              `t2`.`index_1` * 2
                            ) - 100
                          ) * (
                            (
                              `t2`.`index_1` * 2
                            ) - 100
                          )
                        )
                        ELSE 1
                      END AS FLOAT64) < 0
                      THEN CAST('NaN' AS FLOAT64)
                      ELSE SQRT(
                        CAST(CASE
                          WHEN (
                            (
                              (
                                (
                                  `t2`.`index_0` * 2
                                ) - 100
                              ) * (
                                (
                                  `t2`.`index_0` * 2
                                ) - 100
                              )
                            ) + (
                              (
                                (
                                  `t2`.`index_1` * 2
                                ) - 100
                              ) * (
                                (
                                  `t2`.`index_1` * 2
                                ) - 100
                              )
                            )
                          ) > 3600
                          THEN (
                            (
                              (
                                `t2`.`index_0` * 2
                              ) - 100
                            ) * (
                              (
                                `t2`.`index_0` * 2
                              ) - 100
                            )
                          ) + (
                            (
                              (
                                `t2`.`index_1` * 2
                              ) - 100
                            ) * (
                              (
                                `t2`.`index_1` * 2
                              ) - 100
                            )
                          )
                          ELSE 1
                        END AS FLOAT64)
                      )
                    END
                  ) AS INT64)
                )
              ) AS INT64)
              ELSE ABS((
                `t2`.`index_0` * 2
              ) - 100)
            END
          END
          ELSE -1
        END AS `index_0`,
        CASE
          WHEN (
            `t2`.`index_0` >= 0
          ) AND (
            `t2`.`index_1` >= 0
          )
          THEN CASE
            WHEN (
              (
                (
                  (
                    `t2`.`index_0` * 2
                  ) - 100
                ) * (
                  (
                    `t2`.`index_0` * 2
                  ) - 100
                )
              ) + (
                (
                  (
                    `t2`.`index_1` * 2
                  ) - 100
                ) * (
                  (
                    `t2`.`index_1` * 2
                  ) - 100
                )
              )
            ) > 3600
            THEN 1
            ELSE 0
          END
          ELSE -1
        END AS `index_1`,
        `t2`.`level`
      FROM (
        SELECT
          CAST(FLOOR(
            CASE
              WHEN (
                `t1`.`value_0` * 0.0
              ) = 0.0
              THEN CASE
                WHEN `t1`.`value_0` > 100.0
                THEN 100.0
                ELSE CASE WHEN `t1`.`value_0` < 0.0 THEN 0.0 ELSE `t1`.`value_0` END
              END
              ELSE NULL
            END + 0.5
          ) AS INT64) AS `index_0`,
          CAST(FLOOR(
            ieee_divide(
              CASE
                WHEN (
                  `t1`.`value_1` * 0.0
                ) = 0.0
                THEN CASE
                  WHEN `t1`.`value_1` > 50.0
                  THEN 50.0
                  ELSE CASE WHEN `t1`.`value_1` < 0.0 THEN 0.0 ELSE `t1`.`value_1` END
                END
                ELSE NULL
              END,
              (
                `t1`.`value_1` * 0.0
              ) + 0.5
            ) + 0.5
          ) AS INT64) AS `index_1`,
          0 AS `level`
        FROM (
          SELECT
            `t0`.`age` AS `value_0`,
            CAST(CASE
              WHEN (
                `t0`.`rate` > -1E-300
              ) AND (
                `t0`.`rate` < 1e-300
              )
              THEN 0
              ELSE CASE
                WHEN (
                  `t0`.`rate` > -1E+300
                ) AND (
                  `t0`.`rate` < 1e+300
                )
                THEN `t0`.`rate`
                ELSE NULL
              END
            END AS FLOAT64) AS `value_1`
          FROM `people` AS `t0`
        ) AS `t1`
      ) AS `t2`
    ) AS `t3`
  ) AS `t4`
) AS `t5`;

-- clipped squares
SELECT
  COUNT(*) AS `records`,
  COUNT(`t3`.`one`) AS `sum_0`,
  SUM(`t3`.`t_0`) AS `sum_1`
FROM (
  SELECT
    `t2`.`level`,
    CASE WHEN `t2`.`index_0` >= 0 THEN 1 ELSE NULL END AS `one`,
    CASE WHEN `t2`.`index_0` >= 0 THEN `t2`.`index_0` ELSE 0 END AS `t_0`
  FROM (
    SELECT
      CASE
        WHEN (
          `t1`.`index_0` >= 0
        ) AND (
          `t1`.`index_1` >= 0
        )
        THEN CAST(FLOOR(
          ieee_divide(
            CAST((
              CASE
                WHEN ABS(
                  (
                    (
                      (
                        `t1`.`index_1` * 2
                      ) - 8000
                    ) * -7
                  ) + (
                    (
                      (
                        (
                          `t1`.`index_0` * 2
                        ) - 100
                      ) * 3
                    ) + 11
                  )
                ) < 512
                THEN ABS(
                  (
                    (
                      (
                        `t1`.`index_1` * 2
                      ) - 8000
                    ) * -7
                  ) + (
                    (
                      (
                        (
                          `t1`.`index_0` * 2
                        ) - 100
                      ) * 3
                    ) + 11
                  )
                )
                ELSE 512
              END * 2
            ) + 1 AS FLOAT64),
            2.0
          )
        ) AS INT64) * CAST(FLOOR(
          ieee_divide(
            CAST((
              CASE
                WHEN ABS(
                  (
                    (
                      (
                        `t1`.`index_1` * 2
                      ) - 8000
                    ) * -7
                  ) + (
                    (
                      (
                        (
                          `t1`.`index_0` * 2
                        ) - 100
                      ) * 3
                    ) + 11
                  )
                ) < 512
                THEN ABS(
                  (
                    (
                      (
                        `t1`.`index_1` * 2
                      ) - 8000
                    ) * -7
                  ) + (
                    (
                      (
                        (
                          `t1`.`index_0` * 2
                        ) - 100
                      ) * 3
                    ) + 11
                  )
                )
                ELSE 512
              END * 2
            ) + 1 AS FLOAT64),
            2.0
          )
        ) AS INT64)
        ELSE -1
      END AS `index_0`,
      `t1`.`level`
    FROM (
      SELECT
        CAST(FLOOR(
          CASE
            WHEN (
              `t0`.`age` * 0.0
            ) = 0.0
            THEN CASE
              WHEN `t0`.`age` > 100.0
              THEN 100.0
              ELSE CASE WHEN `t0`.`age` < 0.0 THEN 0.0 ELSE `t0`.`age` END
            END
            ELSE NULL
          END + 0.5
        ) AS INT64) AS `index_0`,
        CAST(FLOOR(
          ieee_divide(
            CASE
              WHEN (
                `t0`.`pay` * 0.0
              ) = 0.0
              THEN CASE
                WHEN `t0`.`pay` > 1000.0
                THEN 1000.0
                ELSE CASE WHEN `t0`.`pay` < 0.0 THEN 0.0 ELSE `t0`.`pay` END
              END
              ELSE NULL
            END,
            (
              `t0`.`pay` * 0.0
            ) + 0.125
          ) + 0.5
        ) AS INT64) AS `index_1`,
        0 AS `level`
      FROM `people` AS `t0`
    ) AS `t1`
  ) AS `t2`
) AS `t3`;

-- two values of a table of counts
SELECT
  *
FROM (
  SELECT
    `t2`.`key`,
    COUNT(*) AS `records`
  FROM (
    SELECT
      CASE
        WHEN (
          `t1`.`index_0` >= 0
        ) AND (
          `t1`.`index_1` >= 0
        )
        THEN (
          `t1`.`index_0` * 8001
        ) + `t1`.`index_1`
        ELSE -1
      END + 1 AS `key`
    FROM (
      SELECT
        CAST(FLOOR(
          COALESCE(
            CASE
              WHEN (
                `t0`.`age` * 0.0
              ) = 0.0
              THEN CASE
                WHEN `t0`.`age` > 100.0
                THEN 100.0
                ELSE CASE WHEN `t0`.`age` < 0.0 THEN 0.0 ELSE `t0`.`age` END
              END
              ELSE NULL
            END + 0.5,
            -1.0
          )
        ) AS INT64) AS `index_0`,
        CAST(FLOOR(
          COALESCE(
            ieee_divide(
              CASE
                WHEN (
                  `t0`.`pay` * 0.0
                ) = 0.0
                THEN CASE
                  WHEN `t0`.`pay` > 1000.0
                  THEN 1000.0
                  ELSE CASE WHEN `t0`.`pay` < 0.0 THEN 0.0 ELSE `t0`.`pay` END
                END
                ELSE NULL
              END,
              (
                `t0`.`pay` * 0.0
              ) + 0.125
            ) + 0.5,
            -1.0
          )
        ) AS INT64) AS `index_1`,
        0 AS `level`
      FROM `people` AS `t0`
    ) AS `t1`
  ) AS `t2`
  GROUP BY
    1
) AS `t3`;

-- units of several rows
SELECT
  `t10`.`level`,
  COUNT(*) AS `records`,
  COUNT(`t10`.`one`) AS `sum_0`,
  SUM(`t10`.`t_0`) AS `sum_1`,
  SUM(`t10`.`t_0` * `t10`.`t_0`) AS `sum_2`
FROM (
  SELECT
    `t9`.`level`,
    `t9`.`sum_0` AS `t_0`,
    `t9`.`rows` AS `t_1`,
    1 AS `one`,
    1 AS `there_0`,
    1 AS `there_1`
  FROM (
    SELECT
      `t8`.`unit`,
      `t8`.`level`,
      COALESCE(SUM(`t8`.`index_0`), 0) AS `sum_0`,
      COUNT(*) AS `rows`
    FROM (
      SELECT
        *
      FROM (
        SELECT
          `t6`.`unit`,
          `t6`.`level`,
          `t6`.`index_0`,
          `t6`.`size`,
          `t6`.`number`,
          `t6`.`named`,
          `t6`.`priority`,
          CASE
            WHEN `t6`.`priority` IS NOT NULL
            THEN (
              ROW_NUMBER() OVER (PARTITION BY `t6`.`unit` ORDER BY `t6`.`priority` ASC) - 1
            ) + 1
            ELSE NULL
          END AS `place`
        FROM (
          SELECT
            `t5`.`unit`,
            `t5`.`level`,
            `t5`.`index_0`,
            `t5`.`size`,
            `t5`.`number`,
            `t5`.`named`,
            (
              TO_HEX(SHA256(`t5`.`named`))
            ) AS `priority`
          FROM (
            SELECT
              `t4`.`unit`,
              `t4`.`level`,
              `t4`.`index_0`,
              `t4`.`size`,
              `t4`.`number`,
              CASE
                WHEN `t4`.`size` > 2
                THEN CONCAT(
                  CONCAT(
                    CONCAT(
                      CONCAT('<a secret key, drawn for this question alone>', '|', CAST(`t4`.`level` AS STRING)),
                      '|',
                      CAST(`t4`.`index_0` AS STRING)
                    ),
                    '|',
                    CAST(`t4`.`number` AS STRING)
                  ),
                  '|',
                  `t4`.`unit`
                )
                ELSE NULL
              END AS `named`
            FROM (
              SELECT
                `t3`.`unit`,
                `t3`.`level`,
                `t3`.`index_0`,
                COUNT(*) OVER (PARTITION BY `t3`.`unit`) AS `size`,
                CASE
                  WHEN `t3`.`level` IS NOT NULL
                  THEN (
                    ROW_NUMBER() OVER (PARTITION BY `t3`.`unit`, `t3`.`level`, `t3`.`index_0` ORDER BY `t3`.`level` ASC) - 1
                  ) + 1
                  ELSE NULL
                END AS `number`
              FROM (
                SELECT
                  `t2`.`unit`,
                  `t2`.`level`,
                  `t2`.`index_0`
                FROM (
                  SELECT
                    CAST(FLOOR(
                      COALESCE(
                        CASE
                          WHEN (
                            `t1`.`age` * 0.0
                          ) = 0.0
                          THEN CASE
                            WHEN `t1`.`age` > 100.0
                            THEN 100.0
                            ELSE CASE WHEN `t1`.`age` < 0.0 THEN 0.0 ELSE `t1`.`age` END
                          END
                          ELSE NULL
                        END + 0.5,
                        -1.0
                      )
                    ) AS INT64) AS `index_0`,
                    CASE
                      WHEN `t1`.`job` = 'nurse'
                      THEN 0
                      ELSE CASE
                        WHEN `t1`.`job` = 'O\'Brien \\ so\n"n"'
                        THEN 1
                        ELSE CASE WHEN `t1`.`job` = 'é' THEN 2 ELSE -1 END
                      END
                    END AS `level`,
                    `t1`.`name` AS `unit`,
                    NOT (
                      `t1`.`name` IS NULL
                    ) AS `known`
                  FROM (
                    SELECT
                      `t0`.`age`,
                      (
                        CAST(CAST(`t0`.`job` AS BYTES) AS STRING)
                      ) AS `job`,
                      (
                        CAST(CAST(`t0`.`name` AS BYTES) AS STRING)
                      ) AS `name`
                    FROM `people` AS `t0`
                  ) AS `t1`
                ) AS `t2`
                WHERE
                  `t2`.`known` AND `t2`.`level` >= 0 AND `t2`.`index_0` >= 0
              ) AS `t3`
            ) AS `t4`
          ) AS `t5`
        ) AS `t6`
      ) AS `t7`
      WHERE
        (
          `t7`.`size` <= 2
        ) OR (
          `t7`.`place` <= 2
        )
    ) AS `t8`
    GROUP BY
      1,
      2
  ) AS `t9`
) AS `t10`
GROUP BY
  1;

-- units counted
SELECT
  *
FROM (
  SELECT
    `t3`.`key`,
    COUNT(*) AS `records`
  FROM (
    SELECT
      (
        `t2`.`level` * 1
      ) + (
        (
          (
            CASE WHEN `t2`.`rows` < 1 THEN `t2`.`rows` ELSE 1 END - 1
          ) * 1
        ) + 0
      ) AS `key`
    FROM (
      SELECT
        `t1`.`unit`,
        `t1`.`level`,
        COUNT(*) AS `rows`
      FROM (
        SELECT
          `t0`.`person` AS `unit`,
          0 AS `level`,
          CASE WHEN `t0`.`person` IS NULL THEN 0 ELSE 0 END AS `index`
        FROM `people` AS `t0`
        WHERE
          NOT (
            `t0`.`person` IS NULL
          )
          AND 0 >= 0
          AND CASE WHEN `t0`.`person` IS NULL THEN 0 ELSE 0 END >= 0
      ) AS `t1`
      GROUP BY
        1,
        2
    ) AS `t2`
  ) AS `t3`
  GROUP BY
    1
) AS `t4`;
