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
          WHEN CAST(`t0`.`sex` AS DOUBLE) = CAST(0.0 AS DOUBLE)
          THEN CAST(0 AS BIGINT)
          ELSE CASE
            WHEN CAST(`t0`.`sex` AS DOUBLE) = CAST(1.0 AS DOUBLE)
            THEN CAST(1 AS BIGINT)
            ELSE -CAST(1 AS BIGINT)
          END
        END * CAST(2 AS BIGINT)
      ) + (
        CAST(0 AS BIGINT) + CAST(1 AS BIGINT)
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
        CASE WHEN `t1`.`group_0` THEN CAST(0 AS BIGINT) ELSE -CAST(1 AS BIGINT) END * CAST(3 AS BIGINT)
      ) + (
        CASE
          WHEN (
            `t1`.`value_0` * CAST(0.0 AS DOUBLE)
          ) = CAST(0.0 AS DOUBLE)
          THEN CASE
            WHEN `t1`.`value_0` = CAST(1.0 AS DOUBLE)
            THEN CAST(1 AS BIGINT)
            ELSE CAST(0 AS BIGINT)
          END
          ELSE -CAST(1 AS BIGINT)
        END + CAST(1 AS BIGINT)
      ) AS `key`
    FROM (
      SELECT
        CAST(`t0`.`sex` AS DOUBLE) AS `value_0`,
        CASE
          WHEN (
            (
              `t0`.`age` * CAST(0.0 AS DOUBLE)
            ) = CAST(0.0 AS DOUBLE)
          )
          AND (
            `t0`.`age` >= CAST(25.0 AS DOUBLE)
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
  CAST(0 AS BIGINT) AS `key`,
  `t2`.`records`
FROM (
  SELECT
    COUNT(*) AS `records`
  FROM (
    SELECT
      CAST(`t0`.`sex` AS DOUBLE) AS `value_0`,
      CASE
        WHEN (
          (
            `t0`.`age` * CAST(0.0 AS DOUBLE)
          ) = CAST(0.0 AS DOUBLE)
        )
        AND (
          `t0`.`age` >= CAST(25.0 AS DOUBLE)
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
            `t0`.`age` * CAST(0.0 AS DOUBLE)
          ) = CAST(0.0 AS DOUBLE)
          THEN CASE
            WHEN `t0`.`age` > CAST(100.0 AS DOUBLE)
            THEN CAST(100.0 AS DOUBLE)
            ELSE CASE
              WHEN `t0`.`age` < CAST(0.0 AS DOUBLE)
              THEN CAST(0.0 AS DOUBLE)
              ELSE `t0`.`age`
            END
          END
          ELSE NULL
        END + CAST(0.5 AS DOUBLE)
      ) AS BIGINT) AS `index_0`,
      CAST(0 AS BIGINT) AS `level`
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
          WHEN CAST(`t0`.`sex` AS DOUBLE) = CAST(0.0 AS DOUBLE)
          THEN CAST(0 AS BIGINT)
          ELSE CASE
            WHEN CAST(`t0`.`sex` AS DOUBLE) = CAST(1.0 AS DOUBLE)
            THEN CAST(1 AS BIGINT)
            ELSE -CAST(1 AS BIGINT)
          END
        END * CAST(102 AS BIGINT)
      ) + (
        CAST(FLOOR(
          COALESCE(
            CASE
              WHEN (
                `t0`.`age` * CAST(0.0 AS DOUBLE)
              ) = CAST(0.0 AS DOUBLE)
              THEN CASE
                WHEN `t0`.`age` > CAST(100.0 AS DOUBLE)
                THEN CAST(100.0 AS DOUBLE)
                ELSE CASE
                  WHEN `t0`.`age` < CAST(0.0 AS DOUBLE)
                  THEN CAST(0.0 AS DOUBLE)
                  ELSE `t0`.`age`
                END
              END
              ELSE NULL
            END + CAST(0.5 AS DOUBLE),
            -CAST(1.0 AS DOUBLE)
          )
        ) AS BIGINT) + CAST(1 AS BIGINT)
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
            `t0`.`age` * CAST(0.0 AS DOUBLE)
          ) = CAST(0.0 AS DOUBLE)
          THEN CASE
            WHEN `t0`.`age` > CAST(100.0 AS DOUBLE)
            THEN CAST(100.0 AS DOUBLE)
            ELSE CASE
              WHEN `t0`.`age` < CAST(0.0 AS DOUBLE)
              THEN CAST(0.0 AS DOUBLE)
              ELSE `t0`.`age`
            END
          END
          ELSE NULL
        END + CAST(0.5 AS DOUBLE)
      ) AS BIGINT) AS `index_0`,
      CASE
        WHEN CAST(`t0`.`sex` AS DOUBLE) = CAST(0.0 AS DOUBLE)
        THEN CAST(0 AS BIGINT)
        ELSE CASE
          WHEN CAST(`t0`.`sex` AS DOUBLE) = CAST(1.0 AS DOUBLE)
          THEN CAST(1 AS BIGINT)
          ELSE -CAST(1 AS BIGINT)
        END
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
  ) & CAST(2097151 AS BIGINT)) AS `sum_2`,
  SUM(SHIFTRIGHT((
    `t2`.`t_0` * `t2`.`t_0`
  ), 21)) AS `sum_3`
FROM (
  SELECT
    `t1`.`level`,
    `t1`.`index_0` AS `one`,
    `t1`.`index_0` AS `t_0`
  FROM (
    SELECT
      CAST(FLOOR(
        TRY_DIVIDE(
          CASE
            WHEN (
              `t0`.`pay` * CAST(0.0 AS DOUBLE)
            ) = CAST(0.0 AS DOUBLE)
            THEN CASE
              WHEN `t0`.`pay` > CAST(1000.0 AS DOUBLE)
              THEN CAST(1000.0 AS DOUBLE)
              ELSE CASE
                WHEN `t0`.`pay` < CAST(0.0 AS DOUBLE)
                THEN CAST(0.0 AS DOUBLE)
                ELSE `t0`.`pay`
              END
            END
            ELSE NULL
          END,
          (
            `t0`.`pay` * CAST(0.0 AS DOUBLE)
          ) + CAST(0.00095367431640625 AS DOUBLE)
        ) + CAST(0.5 AS DOUBLE)
      ) AS BIGINT) AS `index_0`,
      CASE
        WHEN (
          (
            `t0`.`age` * CAST(0.0 AS DOUBLE)
          ) = CAST(0.0 AS DOUBLE)
        )
        AND (
          `t0`.`age` >= CAST(0.0 AS DOUBLE)
        )
        AND (
          `t0`.`age` <= CAST(60.0 AS DOUBLE)
        )
        THEN CASE
          WHEN `t0`.`age` < CAST(30.0 AS DOUBLE)
          THEN CAST(0 AS BIGINT)
          ELSE CAST(1 AS BIGINT)
        END
        ELSE -CAST(1 AS BIGINT)
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
  SUM(`t3`.`t_0` & CAST(2097151 AS BIGINT)) AS `sum_1`,
  SUM(SHIFTRIGHT(`t3`.`t_0`, 21)) AS `sum_2`,
  SUM(
    (
      (
        `t3`.`t_0` & CAST(2097151 AS BIGINT)
      ) * (
        `t3`.`t_0` & CAST(2097151 AS BIGINT)
      )
    ) & CAST(2097151 AS BIGINT)
  ) AS `sum_3`,
  SUM(
    SHIFTRIGHT(
      (
        (
          `t3`.`t_0` & CAST(2097151 AS BIGINT)
        ) * (
          `t3`.`t_0` & CAST(2097151 AS BIGINT)
        )
      ),
      21
    )
  ) AS `sum_4`,
  SUM(
    (
      (
        `t3`.`t_0` & CAST(2097151 AS BIGINT)
      ) * (
        (
          SHIFTRIGHT(`t3`.`t_0`, 21)
        ) & CAST(2097151 AS BIGINT)
      )
    ) & CAST(2097151 AS BIGINT)
  ) AS `sum_5`,
  SUM(
    SHIFTRIGHT(
      (
        (
          `t3`.`t_0` & CAST(2097151 AS BIGINT)
        ) * (
          (
            SHIFTRIGHT(`t3`.`t_0`, 21)
          ) & CAST(2097151 AS BIGINT)
        )
      ),
      21
    )
  ) AS `sum_6`,
  SUM(
    (
      (
        `t3`.`t_0` & CAST(2097151 AS BIGINT)
      ) * (
        SHIFTRIGHT(`t3`.`t_0`, 42)
      )
    ) & CAST(2097151 AS BIGINT)
  ) AS `sum_7`,
  SUM(
    SHIFTRIGHT(
      (
        (
          `t3`.`t_0` & CAST(2097151 AS BIGINT)
        ) * (
          SHIFTRIGHT(`t3`.`t_0`, 42)
        )
      ),
      21
    )
  ) AS `sum_8`,
  SUM(
    (
      (
        (
          SHIFTRIGHT(`t3`.`t_0`, 21)
        ) & CAST(2097151 AS BIGINT)
      ) * (
        `t3`.`t_0` & CAST(2097151 AS BIGINT)
      )
    ) & CAST(2097151 AS BIGINT)
  ) AS `sum_9`,
  SUM(
    SHIFTRIGHT(
      (
        (
          (
            SHIFTRIGHT(`t3`.`t_0`, 21)
          ) & CAST(2097151 AS BIGINT)
        ) * (
          `t3`.`t_0` & CAST(2097151 AS BIGINT)
        )
      ),
      21
    )
  ) AS `sum_10`,
  SUM(
    (
      (
        (
          SHIFTRIGHT(`t3`.`t_0`, 21)
        ) & CAST(2097151 AS BIGINT)
      ) * (
        (
          SHIFTRIGHT(`t3`.`t_0`, 21)
        ) & CAST(2097151 AS BIGINT)
      )
    ) & CAST(2097151 AS BIGINT)
  ) AS `sum_11`,
  SUM(
    SHIFTRIGHT(
      (
        (
          (
            SHIFTRIGHT(`t3`.`t_0`, 21)
          ) & CAST(2097151 AS BIGINT)
        ) * (
          (
            SHIFTRIGHT(`t3`.`t_0`, 21)
          ) & CAST(2097151 AS BIGINT)
        )
      ),
      21
    )
  ) AS `sum_12`,
  SUM(
    (
      (
        (
          SHIFTRIGHT(`t3`.`t_0`, 21)
        ) & CAST(2097151 AS BIGINT)
      ) * (
        SHIFTRIGHT(`t3`.`t_0`, 42)
      )
    ) & CAST(2097151 AS BIGINT)
  ) AS `sum_13`,
  SUM(
    SHIFTRIGHT(
      (
        (
          (
            SHIFTRIGHT(`t3`.`t_0`, 21)
          ) & CAST(2097151 AS BIGINT)
        ) * (
          SHIFTRIGHT(`t3`.`t_0`, 42)
        )
      ),
      21
    )
  ) AS `sum_14`,
  SUM(
    (
      (
        SHIFTRIGHT(`t3`.`t_0`, 42)
      ) * (
        `t3`.`t_0` & CAST(2097151 AS BIGINT)
      )
    ) & CAST(2097151 AS BIGINT)
  ) AS `sum_15`,
  SUM(
    SHIFTRIGHT(
      (
        (
          SHIFTRIGHT(`t3`.`t_0`, 42)
        ) * (
          `t3`.`t_0` & CAST(2097151 AS BIGINT)
        )
      ),
      21
    )
  ) AS `sum_16`,
  SUM(
    (
      (
        SHIFTRIGHT(`t3`.`t_0`, 42)
      ) * (
        (
          SHIFTRIGHT(`t3`.`t_0`, 21)
        ) & CAST(2097151 AS BIGINT)
      )
    ) & CAST(2097151 AS BIGINT)
  ) AS `sum_17`,
  SUM(
    SHIFTRIGHT(
      (
        (
          SHIFTRIGHT(`t3`.`t_0`, 42)
        ) * (
          (
            SHIFTRIGHT(`t3`.`t_0`, 21)
          ) & CAST(2097151 AS BIGINT)
        )
      ),
      21
    )
  ) AS `sum_18`,
  SUM(
    (
      (
        SHIFTRIGHT(`t3`.`t_0`, 42)
      ) * (
        SHIFTRIGHT(`t3`.`t_0`, 42)
      )
    ) & CAST(2097151 AS BIGINT)
  ) AS `sum_19`,
  SUM(
    SHIFTRIGHT(
      (
        (
          SHIFTRIGHT(`t3`.`t_0`, 42)
        ) * (
          SHIFTRIGHT(`t3`.`t_0`, 42)
        )
      ),
      21
    )
  ) AS `sum_20`
FROM (
  SELECT
    `t2`.`level`,
    `t2`.`index_0` AS `one`,
    `t2`.`index_0` AS `t_0`
  FROM (
    SELECT
      CAST(FLOOR(
        TRY_DIVIDE(
          CASE
            WHEN (
              `t1`.`age` * CAST(0.0 AS DOUBLE)
            ) = CAST(0.0 AS DOUBLE)
            THEN CASE
              WHEN `t1`.`age` > CAST(100.0 AS DOUBLE)
              THEN CAST(100.0 AS DOUBLE)
              ELSE CASE
                WHEN `t1`.`age` < CAST(0.0 AS DOUBLE)
                THEN CAST(0.0 AS DOUBLE)
                ELSE `t1`.`age`
              END
            END
            ELSE NULL
          END,
          (
            `t1`.`age` * CAST(0.0 AS DOUBLE)
          ) + CAST(9.094947017729282e-11 AS DOUBLE)
        ) + CAST(0.5 AS DOUBLE)
      ) AS BIGINT) AS `index_0`,
      CASE
        WHEN `t1`.`job` = 'nurse'
        THEN CAST(0 AS BIGINT)
        ELSE CASE
          WHEN `t1`.`job` = 'O\'Brien \\ so\n"n"'
          THEN CAST(1 AS BIGINT)
          ELSE CASE WHEN `t1`.`job` = 'é' THEN CAST(2 AS BIGINT) ELSE -CAST(1 AS BIGINT) END
        END
      END AS `level`
    FROM (
      SELECT
        `t0`.`age`,
        (
          CAST(CAST(`t0`.`job` AS BINARY) AS STRING)
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
  ) & CAST(2097151 AS BIGINT)) AS `sum_4`,
  SUM(SHIFTRIGHT((
    `t3`.`t_1` * `t3`.`t_1`
  ), 21)) AS `sum_5`
FROM (
  SELECT
    `t2`.`level`,
    CASE WHEN `t2`.`counts` THEN CAST(1 AS BIGINT) ELSE NULL END AS `one`,
    CASE WHEN `t2`.`counts` THEN `t2`.`index_0` ELSE CAST(0 AS BIGINT) END AS `t_0`,
    CASE WHEN `t2`.`counts` THEN `t2`.`index_1` ELSE CAST(0 AS BIGINT) END AS `t_1`
  FROM (
    SELECT
      `t1`.`index_0`,
      `t1`.`index_1`,
      `t1`.`level`,
      (
        `t1`.`index_0` >= CAST(0 AS BIGINT)
      )
      AND (
        `t1`.`index_1` >= CAST(0 AS BIGINT)
      ) AS `counts`
    FROM (
      SELECT
        CAST(FLOOR(
          CASE
            WHEN (
              `t0`.`age` * CAST(0.0 AS DOUBLE)
            ) = CAST(0.0 AS DOUBLE)
            THEN CASE
              WHEN `t0`.`age` > CAST(100.0 AS DOUBLE)
              THEN CAST(100.0 AS DOUBLE)
              ELSE CASE
                WHEN `t0`.`age` < CAST(0.0 AS DOUBLE)
                THEN CAST(0.0 AS DOUBLE)
                ELSE `t0`.`age`
              END
            END
            ELSE NULL
          END + CAST(0.5 AS DOUBLE)
        ) AS BIGINT) AS `index_0`,
        CAST(FLOOR(
          TRY_DIVIDE(
            CASE
              WHEN (
                `t0`.`pay` * CAST(0.0 AS DOUBLE)
              ) = CAST(0.0 AS DOUBLE)
              THEN CASE
                WHEN `t0`.`pay` > CAST(1000.0 AS DOUBLE)
                THEN CAST(1000.0 AS DOUBLE)
                ELSE CASE
                  WHEN `t0`.`pay` < CAST(0.0 AS DOUBLE)
                  THEN CAST(0.0 AS DOUBLE)
                  ELSE `t0`.`pay`
                END
              END
              ELSE NULL
            END,
            (
              `t0`.`pay` * CAST(0.0 AS DOUBLE)
            ) + CAST(0.125 AS DOUBLE)
          ) + CAST(0.5 AS DOUBLE)
        ) AS BIGINT) AS `index_1`,
        CASE
          WHEN CAST(`t0`.`sex` AS DOUBLE) = CAST(0.0 AS DOUBLE)
          THEN CAST(0 AS BIGINT)
          ELSE CASE
            WHEN CAST(`t0`.`sex` AS DOUBLE) = CAST(1.0 AS DOUBLE)
            THEN CAST(1 AS BIGINT)
            ELSE -CAST(1 AS BIGINT)
          END
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
        `t2`.`index_0` >= CAST(0 AS BIGINT)
      )
      AND (
        `t2`.`index_1` >= CAST(0 AS BIGINT)
      )
      THEN `t2`.`index_1`
      ELSE CAST(0 AS BIGINT)
    END AS `t_1`
  FROM (
    SELECT
      CAST(FLOOR(
        TRY_DIVIDE(
          CASE
            WHEN (
              `t1`.`value_0` * CAST(0.0 AS DOUBLE)
            ) = CAST(0.0 AS DOUBLE)
            THEN CASE
              WHEN `t1`.`value_0` > CAST(50.0 AS DOUBLE)
              THEN CAST(50.0 AS DOUBLE)
              ELSE CASE
                WHEN `t1`.`value_0` < CAST(0.0 AS DOUBLE)
                THEN CAST(0.0 AS DOUBLE)
                ELSE `t1`.`value_0`
              END
            END
            ELSE NULL
          END,
          (
            `t1`.`value_0` * CAST(0.0 AS DOUBLE)
          ) + CAST(0.5 AS DOUBLE)
        ) + CAST(0.5 AS DOUBLE)
      ) AS BIGINT) AS `index_0`,
      CASE
        WHEN (
          `t1`.`value_1` * CAST(0.0 AS DOUBLE)
        ) = CAST(0.0 AS DOUBLE)
        THEN CASE
          WHEN `t1`.`value_1` = CAST(1.0 AS DOUBLE)
          THEN CAST(1 AS BIGINT)
          ELSE CAST(0 AS BIGINT)
        END
        ELSE CAST(NULL AS BIGINT)
      END AS `index_1`,
      CAST(0 AS BIGINT) AS `level`
    FROM (
      SELECT
        CAST(CASE
          WHEN (
            `t0`.`rate` > -CAST(1E-300 AS DOUBLE)
          )
          AND (
            `t0`.`rate` < CAST(1e-300 AS DOUBLE)
          )
          THEN CAST(0 AS BIGINT)
          ELSE CASE
            WHEN (
              `t0`.`rate` > -CAST(1E+300 AS DOUBLE)
            )
            AND (
              `t0`.`rate` < CAST(1e+300 AS DOUBLE)
            )
            THEN `t0`.`rate`
            ELSE NULL
          END
        END AS DOUBLE) AS `value_0`,
        CASE
          WHEN `t0`.`employed`
          THEN CAST(1.0 AS DOUBLE)
          ELSE CASE WHEN NOT (
            `t0`.`employed`
          ) THEN CAST(0.0 AS DOUBLE) ELSE NULL END
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
  ) & CAST(2097151 AS BIGINT)) AS `sum_4`,
  SUM(SHIFTRIGHT((
    `t4`.`t_1` * `t4`.`t_1`
  ), 21)) AS `sum_5`
FROM (
  SELECT
    `t3`.`level`,
    CASE WHEN `t3`.`counts` THEN CAST(1 AS BIGINT) ELSE NULL END AS `one`,
    CASE WHEN `t3`.`counts` THEN `t3`.`index_0` ELSE CAST(0 AS BIGINT) END AS `t_0`,
    CASE WHEN `t3`.`counts` THEN `t3`.`index_1` ELSE CAST(0 AS BIGINT) END AS `t_1`
  FROM (
    SELECT
      `t2`.`index_0`,
      `t2`.`index_1`,
      `t2`.`level`,
      (
        `t2`.`index_0` >= CAST(0 AS BIGINT)
      )
      AND (
        `t2`.`index_1` >= CAST(0 AS BIGINT)
      ) AS `counts`
    FROM (
      SELECT
        `t1`.`index_0`,
        CASE
          WHEN `t1`.`index_1` >= CAST(0 AS BIGINT)
          THEN `t1`.`index_0` * `t1`.`index_1`
          ELSE -CAST(1 AS BIGINT)
        END AS `index_1`,
        `t1`.`level`
      FROM (
        SELECT
          CAST(FLOOR(
            COALESCE(
              TRY_DIVIDE(
                CASE
                  WHEN (
                    `t0`.`w` * CAST(0.0 AS DOUBLE)
                  ) = CAST(0.0 AS DOUBLE)
                  THEN CASE
                    WHEN `t0`.`w` > CAST(8.0 AS DOUBLE)
                    THEN CAST(8.0 AS DOUBLE)
                    ELSE CASE WHEN `t0`.`w` < CAST(0.0 AS DOUBLE) THEN CAST(0.0 AS DOUBLE) ELSE `t0`.`w` END
                  END
                  ELSE NULL
                END,
                (
                  `t0`.`w` * CAST(0.0 AS DOUBLE)
                ) + CAST(0.5 AS DOUBLE)
              ) + CAST(0.5 AS DOUBLE),
              CAST(0.0 AS DOUBLE)
            )
          ) AS BIGINT) AS `index_0`,
          CAST(FLOOR(
            TRY_DIVIDE(
              CASE
                WHEN (
                  `t0`.`pay` * CAST(0.0 AS DOUBLE)
                ) = CAST(0.0 AS DOUBLE)
                THEN CASE
                  WHEN `t0`.`pay` > CAST(1000.0 AS DOUBLE)
                  THEN CAST(1000.0 AS DOUBLE)
                  ELSE CASE
                    WHEN `t0`.`pay` < CAST(0.0 AS DOUBLE)
                    THEN CAST(0.0 AS DOUBLE)
                    ELSE `t0`.`pay`
                  END
                END
                ELSE NULL
              END,
              (
                `t0`.`pay` * CAST(0.0 AS DOUBLE)
              ) + CAST(0.125 AS DOUBLE)
            ) + CAST(0.5 AS DOUBLE)
          ) AS BIGINT) AS `index_1`,
          CAST(0 AS BIGINT) AS `level`
        FROM `people` AS `t0`
      ) AS `t1`
    ) AS `t2`
  ) AS `t3`
) AS `t4`;

-- a product of values
SELECT
  COUNT(*) AS `records`,
  COUNT(`t3`.`one`) AS `sum_0`,
  SUM(`t3`.`t_0` & CAST(2097151 AS BIGINT)) AS `sum_1`,
  SUM(SHIFTRIGHT(`t3`.`t_0`, 21)) AS `sum_2`,
  SUM((
    `t3`.`t_0` * `t3`.`t_0`
  ) & CAST(2097151 AS BIGINT)) AS `sum_3`,
  SUM(
    (
      SHIFTRIGHT((
        `t3`.`t_0` * `t3`.`t_0`
      ), 21)
    ) & CAST(2097151 AS BIGINT)
  ) AS `sum_4`,
  SUM(SHIFTRIGHT((
    `t3`.`t_0` * `t3`.`t_0`
  ), 42)) AS `sum_5`,
  SUM((
    `t3`.`t_0` * `t3`.`t_1`
  ) & CAST(2097151 AS BIGINT)) AS `sum_6`,
  SUM(SHIFTRIGHT((
    `t3`.`t_0` * `t3`.`t_1`
  ), 21)) AS `sum_7`,
  SUM((
    `t3`.`t_1` * `t3`.`t_1`
  ) & CAST(2097151 AS BIGINT)) AS `sum_8`,
  SUM(SHIFTRIGHT((
    `t3`.`t_1` * `t3`.`t_1`
  ), 21)) AS `sum_9`
FROM (
  SELECT
    `t2`.`level`,
    CASE WHEN `t2`.`index_0` >= CAST(0 AS BIGINT) THEN CAST(1 AS BIGINT) ELSE NULL END AS `one`,
    CASE
      WHEN `t2`.`index_0` >= CAST(0 AS BIGINT)
      THEN `t2`.`index_0`
      ELSE CAST(0 AS BIGINT)
    END AS `t_0`,
    CASE
      WHEN (
        `t2`.`index_0` >= CAST(0 AS BIGINT)
      )
      AND (
        `t2`.`index_1` >= CAST(0 AS BIGINT)
      )
      THEN `t2`.`index_1`
      ELSE CAST(0 AS BIGINT)
    END AS `t_1`
  FROM (
    SELECT
      CASE
        WHEN (
          `t1`.`index_0` >= CAST(0 AS BIGINT)
        )
        AND (
          `t1`.`index_1` >= CAST(0 AS BIGINT)
        )
        AND (
          `t1`.`index_2` >= CAST(0 AS BIGINT)
        )
        THEN (
          (
            (
              `t1`.`index_0` * CAST(2 AS BIGINT)
            ) - CAST(100 AS BIGINT)
          ) * CAST(1 AS BIGINT) * (
            (
              `t1`.`index_0` * CAST(2 AS BIGINT)
            ) - CAST(100 AS BIGINT)
          ) * (
            (
              `t1`.`index_1` * CAST(2 AS BIGINT)
            ) - CAST(8000 AS BIGINT)
          ) * `t1`.`index_2`
        ) + CAST(80000000 AS BIGINT)
        ELSE -CAST(1 AS BIGINT)
      END AS `index_0`,
      `t1`.`index_1`,
      `t1`.`level`
    FROM (
      SELECT
        CAST(FLOOR(
          CASE
            WHEN (
              `t0`.`age` * CAST(0.0 AS DOUBLE)
            ) = CAST(0.0 AS DOUBLE)
            THEN CASE
              WHEN `t0`.`age` > CAST(100.0 AS DOUBLE)
              THEN CAST(100.0 AS DOUBLE)
              ELSE CASE
                WHEN `t0`.`age` < CAST(0.0 AS DOUBLE)
                THEN CAST(0.0 AS DOUBLE)
                ELSE `t0`.`age`
              END
            END
            ELSE NULL
          END + CAST(0.5 AS DOUBLE)
        ) AS BIGINT) AS `index_0`,
        CAST(FLOOR(
          TRY_DIVIDE(
            CASE
              WHEN (
                `t0`.`pay` * CAST(0.0 AS DOUBLE)
              ) = CAST(0.0 AS DOUBLE)
              THEN CASE
                WHEN `t0`.`pay` > CAST(1000.0 AS DOUBLE)
                THEN CAST(1000.0 AS DOUBLE)
                ELSE CASE
                  WHEN `t0`.`pay` < CAST(0.0 AS DOUBLE)
                  THEN CAST(0.0 AS DOUBLE)
                  ELSE `t0`.`pay`
                END
              END
              ELSE NULL
            END,
            (
              `t0`.`pay` * CAST(0.0 AS DOUBLE)
            ) + CAST(0.125 AS DOUBLE)
          ) + CAST(0.5 AS DOUBLE)
        ) AS BIGINT) AS `index_1`,
        CASE
          WHEN (
            CAST(`t0`.`sex` AS DOUBLE) * CAST(0.0 AS DOUBLE)
          ) = CAST(0.0 AS DOUBLE)
          THEN CASE
            WHEN CAST(`t0`.`sex` AS DOUBLE) = CAST(1.0 AS DOUBLE)
            THEN CAST(1 AS BIGINT)
            ELSE CAST(0 AS BIGINT)
          END
          ELSE CAST(NULL AS BIGINT)
        END AS `index_2`,
        CAST(0 AS BIGINT) AS `level`
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
            THEN CAST(0 AS BIGINT)
            ELSE CASE
              WHEN `t1`.`job` = 'b'
              THEN CAST(1 AS BIGINT)
              ELSE CASE
                WHEN `t1`.`job` = 'c'
                THEN CAST(2 AS BIGINT)
                ELSE CASE
                  WHEN `t1`.`job` = 'd'
                  THEN CAST(3 AS BIGINT)
                  ELSE CASE WHEN `t1`.`job` = 'e' THEN CAST(4 AS BIGINT) ELSE -CAST(1 AS BIGINT) END
                END
              END
            END
          END
          ELSE CASE
            WHEN `t1`.`job` = 'f'
            THEN CAST(5 AS BIGINT)
            ELSE CASE
              WHEN `t1`.`job` = 'g'
              THEN CAST(6 AS BIGINT)
              ELSE CASE
                WHEN `t1`.`job` = 'h'
                THEN CAST(7 AS BIGINT)
                ELSE CASE
                  WHEN `t1`.`job` = 'i'
                  THEN CAST(8 AS BIGINT)
                  ELSE CASE
                    WHEN `t1`.`job` = 'j'
                    THEN CAST(9 AS BIGINT)
                    ELSE CASE WHEN `t1`.`job` = 'k' THEN CAST(10 AS BIGINT) ELSE -CAST(1 AS BIGINT) END
                  END
                END
              END
            END
          END
        END * CAST(2 AS BIGINT)
      ) + (
        CAST(0 AS BIGINT) + CAST(1 AS BIGINT)
      ) AS `key`
    FROM (
      SELECT
        (
          CAST(CAST(`t0`.`job` AS BINARY) AS STRING)
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
    CASE WHEN `t4`.`counts` THEN CAST(1 AS BIGINT) ELSE NULL END AS `one`,
    CASE WHEN `t4`.`counts` THEN `t4`.`index_0` ELSE CAST(0 AS BIGINT) END AS `t_0`,
    CASE WHEN `t4`.`counts` THEN `t4`.`index_1` ELSE CAST(0 AS BIGINT) END AS `t_1`
  FROM (
    SELECT
      `t3`.`index_0`,
      `t3`.`index_1`,
      `t3`.`level`,
      (
        `t3`.`index_0` >= CAST(0 AS BIGINT)
      )
      AND (
        `t3`.`index_1` >= CAST(0 AS BIGINT)
      ) AS `counts`
    FROM (
      SELECT
        CASE
          WHEN (
            `t2`.`index_0` >= CAST(0 AS BIGINT)
          )
          AND (
            `t2`.`index_1` >= CAST(0 AS BIGINT)
          )
          THEN CASE
            WHEN (
              (
                `t2`.`index_0` * CAST(2 AS BIGINT)
              ) - CAST(100 AS BIGINT)
            ) >= CAST(0 AS BIGINT)
            THEN CASE
              WHEN (
                (
                  (
                    (
                      `t2`.`index_0` * CAST(2 AS BIGINT)
                    ) - CAST(100 AS BIGINT)
                  ) * (
                    (
                      `t2`.`index_0` * CAST(2 AS BIGINT)
                    ) - CAST(100 AS BIGINT)
                  )
                ) + (
                  (
                    (
                      `t2`.`index_1` * CAST(2 AS BIGINT)
                    ) - CAST(100 AS BIGINT)
                  ) * (
                    (
                      `t2`.`index_1` * CAST(2 AS BIGINT)
                    ) - CAST(100 AS BIGINT)
                  )
                )
              ) > CAST(3600 AS BIGINT)
              THEN CAST(FLOOR(
                TRY_DIVIDE(
                  CAST(ABS((
                    `t2`.`index_0` * CAST(2 AS BIGINT)
                  ) - CAST(100 AS BIGINT)) * CAST(60 AS BIGINT) AS DOUBLE),
                  CAST(CEIL(
                    CASE
                      WHEN CAST(CASE
                        WHEN (
                          (
                            (
                              (
                                `t2`.`index_0` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            ) * (
                              (
                                `t2`.`index_0` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            )
                          ) + (
                            (
                              (
                                `t2`.`index_1` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            ) * (
                              (
                                `t2`.`index_1` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            )
                          )
                        ) > CAST(3600 AS BIGINT)
                        THEN (
                          (
                            (
                              `t2`.`index_0` * CAST(2 AS BIGINT)
                            ) - CAST(100 AS BIGINT)
                          ) * (
                            (
                              `t2`.`index_0` * CAST(2 AS BIGINT)
                            ) - CAST(100 AS BIGINT)
                          )
                        ) + (
                          (
                            (
                              `t2`.`index_1` * CAST(2 AS BIGINT)
                            ) - CAST(100 AS BIGINT)
                          ) * (
                            (
                              `t2`.`index_1` * CAST(2 AS BIGINT)
                            ) - CAST(100 AS BIGINT)
                          )
                        )
                        ELSE CAST(1 AS BIGINT)
                      END AS DOUBLE) < CAST(0 AS BIGINT)
                      THEN CAST('NaN' AS DOUBLE)
                      ELSE SQRT(
                        CAST(CASE
                          WHEN (
                            (
                              (
                                (
                                  `t2`.`index_0` * CAST(2 AS BIGINT)
                                ) - CAST(100 AS BIGINT)
                              ) * (
                                (
                                  `t2`.`index_0` * CAST(2 AS BIGINT)
                                ) - CAST(100 AS BIGINT)
                              )
                            ) + (
                              (
                                (
                                  `t2`.`index_1` * CAST(2 AS BIGINT)
                                ) - CAST(100 AS BIGINT)
                              ) * (
                                (
                                  `t2`.`index_1` * CAST(2 AS BIGINT)
                                ) - CAST(100 AS BIGINT)
                              )
                            )
                          ) > CAST(3600 AS BIGINT)
                          THEN (
                            (
                              (
                                `t2`.`index_0` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            ) * (
                              (
                                `t2`.`index_0` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            )
                          ) + (
                            (
                              (
                                `t2`.`index_1` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            ) * (
                              (
                                `t2`.`index_1` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            )
                          )
                          ELSE CAST(1 AS BIGINT)
                        END AS DOUBLE)
                      )
                    END
                  ) AS BIGINT)
                )
              ) AS BIGINT)
              ELSE ABS((
                `t2`.`index_0` * CAST(2 AS BIGINT)
              ) - CAST(100 AS BIGINT))
            END + CAST(60 AS BIGINT)
            ELSE CAST(60 AS BIGINT) - CASE
              WHEN (
                (
                  (
                    (
                      `t2`.`index_0` * CAST(2 AS BIGINT)
                    ) - CAST(100 AS BIGINT)
                  ) * (
                    (
                      `t2`.`index_0` * CAST(2 AS BIGINT)
                    ) - CAST(100 AS BIGINT)
                  )
                ) + (
                  (
                    (
                      `t2`.`index_1` * CAST(2 AS BIGINT)
                    ) - CAST(100 AS BIGINT)
                  ) * (
                    (
                      `t2`.`index_1` * CAST(2 AS BIGINT)
                    ) - CAST(100 AS BIGINT)
                  )
                )
              ) > CAST(3600 AS BIGINT)
              THEN CAST(FLOOR(
                TRY_DIVIDE(
                  CAST(ABS((
                    `t2`.`index_0` * CAST(2 AS BIGINT)
                  ) - CAST(100 AS BIGINT)) * CAST(60 AS BIGINT) AS DOUBLE),
                  CAST(CEIL(
                    CASE
                      WHEN CAST(CASE
                        WHEN (
                          (
                            (
                              (
                                `t2`.`index_0` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            ) * (
                              (
                                `t2`.`index_0` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            )
                          ) + (
                            (
                              (
                                `t2`.`index_1` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            ) * (
                              (
                                `t2`.`index_1` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            )
                          )
                        ) > CAST(3600 AS BIGINT)
                        THEN (
                          (
                            (
                              `t2`.`index_0` * CAST(2 AS BIGINT)
                            ) - CAST(100 AS BIGINT)
                          ) * (
                            (
                              `t2`.`index_0` * CAST(2 AS BIGINT)
                            ) - CAST(100 AS BIGINT)
                          )
                        ) + (
                          (
                            (
                              `t2`.`index_1` * CAST(2 AS BIGINT)
                            ) - CAST(100 AS BIGINT)
                          ) * (
                            (
                              `t2`.`index_1` * CAST(2 AS BIGINT)
                            ) - CAST(100 AS BIGINT)
                          )
                        )
                        ELSE CAST(1 AS BIGINT)
                      END AS DOUBLE) < CAST(0 AS BIGINT)
                      THEN CAST('NaN' AS DOUBLE)
                      ELSE SQRT(
                        CAST(CASE
                          WHEN (
                            (
                              (
                                (
                                  `t2`.`index_0` * CAST(2 AS BIGINT)
                                ) - CAST(100 AS BIGINT)
                              ) * (
                                (
                                  `t2`.`index_0` * CAST(2 AS BIGINT)
                                ) - CAST(100 AS BIGINT)
                              )
                            ) + (
                              (
                                (
                                  `t2`.`index_1` * CAST(2 AS BIGINT)
                                ) - CAST(100 AS BIGINT)
                              ) * (
                                (
                                  `t2`.`index_1` * CAST(2 AS BIGINT)
                                ) - CAST(100 AS BIGINT)
                              )
                            )
                          ) > CAST(3600 AS BIGINT)
                          THEN (
                            (
                              (
                                `t2`.`index_0` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            ) * (
                              (
                                `t2`.`index_0` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            )
                          ) + (
                            (
                              (
                                `t2`.`index_1` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            ) * (
                              (
                                `t2`.`index_1` * CAST(2 AS BIGINT)
                              ) - CAST(100 AS BIGINT)
                            )
                          )
                          ELSE CAST(1 AS BIGINT)
                        END AS DOUBLE)
                      )
                    END
                  ) AS BIGINT)
                )
              ) AS BIGINT)
              ELSE ABS((
                `t2`.`index_0` * CAST(2 AS BIGINT)
              ) - CAST(100 AS BIGINT))
            END
          END
          ELSE -CAST(1 AS BIGINT)
        END AS `index_0`,
        CASE
          WHEN (
            `t2`.`index_0` >= CAST(0 AS BIGINT)
          )
          AND (
            `t2`.`index_1` >= CAST(0 AS BIGINT)
          )
          THEN CASE
            WHEN (
              (
                (
                  (
                    `t2`.`index_0` * CAST(2 AS BIGINT)
                  ) - CAST(100 AS BIGINT)
                ) * (
                  (
                    `t2`.`index_0` * CAST(2 AS BIGINT)
                  ) - CAST(100 AS BIGINT)
                )
              ) + (
                (
                  (
                    `t2`.`index_1` * CAST(2 AS BIGINT)
                  ) - CAST(100 AS BIGINT)
                ) * (
                  (
                    `t2`.`index_1` * CAST(2 AS BIGINT)
                  ) - CAST(100 AS BIGINT)
                )
              )
            ) > CAST(3600 AS BIGINT)
            THEN CAST(1 AS BIGINT)
            ELSE CAST(0 AS BIGINT)
          END
          ELSE -CAST(1 AS BIGINT)
        END AS `index_1`,
        `t2`.`level`
      FROM (
        SELECT
          CAST(FLOOR(
            CASE
              WHEN (
                `t1`.`value_0` * CAST(0.0 AS DOUBLE)
              ) = CAST(0.0 AS DOUBLE)
              THEN CASE
                WHEN `t1`.`value_0` > CAST(100.0 AS DOUBLE)
                THEN CAST(100.0 AS DOUBLE)
                ELSE CASE
                  WHEN `t1`.`value_0` < CAST(0.0 AS DOUBLE)
                  THEN CAST(0.0 AS DOUBLE)
                  ELSE `t1`.`value_0`
                END
              END
              ELSE NULL
            END + CAST(0.5 AS DOUBLE)
          ) AS BIGINT) AS `index_0`,
          CAST(FLOOR(
            TRY_DIVIDE(
              CASE
                WHEN (
                  `t1`.`value_1` * CAST(0.0 AS DOUBLE)
                ) = CAST(0.0 AS DOUBLE)
                THEN CASE
                  WHEN `t1`.`value_1` > CAST(50.0 AS DOUBLE)
                  THEN CAST(50.0 AS DOUBLE)
                  ELSE CASE
                    WHEN `t1`.`value_1` < CAST(0.0 AS DOUBLE)
                    THEN CAST(0.0 AS DOUBLE)
                    ELSE `t1`.`value_1`
                  END
                END
                ELSE NULL
              END,
              (
                `t1`.`value_1` * CAST(0.0 AS DOUBLE)
              ) + CAST(0.5 AS DOUBLE)
            ) + CAST(0.5 AS DOUBLE)
          ) AS BIGINT) AS `index_1`,
          CAST(0 AS BIGINT) AS `level`
        FROM (
          SELECT
            `t0`.`age` AS `value_0`,
            CAST(CASE
              WHEN (
                `t0`.`rate` > -CAST(1E-300 AS DOUBLE)
              )
              AND (
                `t0`.`rate` < CAST(1e-300 AS DOUBLE)
              )
              THEN CAST(0 AS BIGINT)
              ELSE CASE
                WHEN (
                  `t0`.`rate` > -CAST(1E+300 AS DOUBLE)
                )
                AND (
                  `t0`.`rate` < CAST(1e+300 AS DOUBLE)
                )
                THEN `t0`.`rate`
                ELSE NULL
              END
            END AS DOUBLE) AS `value_1`
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
    CASE WHEN `t2`.`index_0` >= CAST(0 AS BIGINT) THEN CAST(1 AS BIGINT) ELSE NULL END AS `one`,
    CASE
      WHEN `t2`.`index_0` >= CAST(0 AS BIGINT)
      THEN `t2`.`index_0`
      ELSE CAST(0 AS BIGINT)
    END AS `t_0`
  FROM (
    SELECT
      CASE
        WHEN (
          `t1`.`index_0` >= CAST(0 AS BIGINT)
        )
        AND (
          `t1`.`index_1` >= CAST(0 AS BIGINT)
        )
        THEN CAST(FLOOR(
          TRY_DIVIDE(
            CAST((
              CASE
                WHEN ABS(
                  (
                    (
                      (
                        `t1`.`index_1` * CAST(2 AS BIGINT)
                      ) - CAST(8000 AS BIGINT)
                    ) * -CAST(7 AS BIGINT)
                  ) + (
                    (
                      (
                        (
                          `t1`.`index_0` * CAST(2 AS BIGINT)
                        ) - CAST(100 AS BIGINT)
                      ) * CAST(3 AS BIGINT)
                    ) + CAST(11 AS BIGINT)
                  )
                ) < CAST(512 AS BIGINT)
                THEN ABS(
                  (
                    (
                      (
                        `t1`.`index_1` * CAST(2 AS BIGINT)
                      ) - CAST(8000 AS BIGINT)
                    ) * -CAST(7 AS BIGINT)
                  ) + (
                    (
                      (
                        (
                          `t1`.`index_0` * CAST(2 AS BIGINT)
                        ) - CAST(100 AS BIGINT)
                      ) * CAST(3 AS BIGINT)
                    ) + CAST(11 AS BIGINT)
                  )
                )
                ELSE CAST(512 AS BIGINT)
              END * CAST(2 AS BIGINT)
            ) + CAST(1 AS BIGINT) AS DOUBLE),
            CAST(2.0 AS DOUBLE)
          )
        ) AS BIGINT) * CAST(FLOOR(
          TRY_DIVIDE(
            CAST((
              CASE
                WHEN ABS(
                  (
                    (
                      (
                        `t1`.`index_1` * CAST(2 AS BIGINT)
                      ) - CAST(8000 AS BIGINT)
                    ) * -CAST(7 AS BIGINT)
                  ) + (
                    (
                      (
                        (
                          `t1`.`index_0` * CAST(2 AS BIGINT)
                        ) - CAST(100 AS BIGINT)
                      ) * CAST(3 AS BIGINT)
                    ) + CAST(11 AS BIGINT)
                  )
                ) < CAST(512 AS BIGINT)
                THEN ABS(
                  (
                    (
                      (
                        `t1`.`index_1` * CAST(2 AS BIGINT)
                      ) - CAST(8000 AS BIGINT)
                    ) * -CAST(7 AS BIGINT)
                  ) + (
                    (
                      (
                        (
                          `t1`.`index_0` * CAST(2 AS BIGINT)
                        ) - CAST(100 AS BIGINT)
                      ) * CAST(3 AS BIGINT)
                    ) + CAST(11 AS BIGINT)
                  )
                )
                ELSE CAST(512 AS BIGINT)
              END * CAST(2 AS BIGINT)
            ) + CAST(1 AS BIGINT) AS DOUBLE),
            CAST(2.0 AS DOUBLE)
          )
        ) AS BIGINT)
        ELSE -CAST(1 AS BIGINT)
      END AS `index_0`,
      `t1`.`level`
    FROM (
      SELECT
        CAST(FLOOR(
          CASE
            WHEN (
              `t0`.`age` * CAST(0.0 AS DOUBLE)
            ) = CAST(0.0 AS DOUBLE)
            THEN CASE
              WHEN `t0`.`age` > CAST(100.0 AS DOUBLE)
              THEN CAST(100.0 AS DOUBLE)
              ELSE CASE
                WHEN `t0`.`age` < CAST(0.0 AS DOUBLE)
                THEN CAST(0.0 AS DOUBLE)
                ELSE `t0`.`age`
              END
            END
            ELSE NULL
          END + CAST(0.5 AS DOUBLE)
        ) AS BIGINT) AS `index_0`,
        CAST(FLOOR(
          TRY_DIVIDE(
            CASE
              WHEN (
                `t0`.`pay` * CAST(0.0 AS DOUBLE)
              ) = CAST(0.0 AS DOUBLE)
              THEN CASE
                WHEN `t0`.`pay` > CAST(1000.0 AS DOUBLE)
                THEN CAST(1000.0 AS DOUBLE)
                ELSE CASE
                  WHEN `t0`.`pay` < CAST(0.0 AS DOUBLE)
                  THEN CAST(0.0 AS DOUBLE)
                  ELSE `t0`.`pay`
                END
              END
              ELSE NULL
            END,
            (
              `t0`.`pay` * CAST(0.0 AS DOUBLE)
            ) + CAST(0.125 AS DOUBLE)
          ) + CAST(0.5 AS DOUBLE)
        ) AS BIGINT) AS `index_1`,
        CAST(0 AS BIGINT) AS `level`
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
          `t1`.`index_0` >= CAST(0 AS BIGINT)
        )
        AND (
          `t1`.`index_1` >= CAST(0 AS BIGINT)
        )
        THEN (
          `t1`.`index_0` * CAST(8001 AS BIGINT)
        ) + `t1`.`index_1`
        ELSE -CAST(1 AS BIGINT)
      END + CAST(1 AS BIGINT) AS `key`
    FROM (
      SELECT
        CAST(FLOOR(
          COALESCE(
            CASE
              WHEN (
                `t0`.`age` * CAST(0.0 AS DOUBLE)
              ) = CAST(0.0 AS DOUBLE)
              THEN CASE
                WHEN `t0`.`age` > CAST(100.0 AS DOUBLE)
                THEN CAST(100.0 AS DOUBLE)
                ELSE CASE
                  WHEN `t0`.`age` < CAST(0.0 AS DOUBLE)
                  THEN CAST(0.0 AS DOUBLE)
                  ELSE `t0`.`age`
                END
              END
              ELSE NULL
            END + CAST(0.5 AS DOUBLE),
            -CAST(1.0 AS DOUBLE)
          )
        ) AS BIGINT) AS `index_0`,
        CAST(FLOOR(
          COALESCE(
            TRY_DIVIDE(
              CASE
                WHEN (
                  `t0`.`pay` * CAST(0.0 AS DOUBLE)
                ) = CAST(0.0 AS DOUBLE)
                THEN CASE
                  WHEN `t0`.`pay` > CAST(1000.0 AS DOUBLE)
                  THEN CAST(1000.0 AS DOUBLE)
                  ELSE CASE
                    WHEN `t0`.`pay` < CAST(0.0 AS DOUBLE)
                    THEN CAST(0.0 AS DOUBLE)
                    ELSE `t0`.`pay`
                  END
                END
                ELSE NULL
              END,
              (
                `t0`.`pay` * CAST(0.0 AS DOUBLE)
              ) + CAST(0.125 AS DOUBLE)
            ) + CAST(0.5 AS DOUBLE),
            -CAST(1.0 AS DOUBLE)
          )
        ) AS BIGINT) AS `index_1`,
        CAST(0 AS BIGINT) AS `level`
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
    CAST(1 AS BIGINT) AS `one`,
    CAST(1 AS BIGINT) AS `there_0`,
    CAST(1 AS BIGINT) AS `there_1`
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
              ROW_NUMBER() OVER (PARTITION BY `t6`.`unit` ORDER BY `t6`.`priority` ASC NULLS LAST) - CAST(1 AS BIGINT)
            ) + CAST(1 AS BIGINT)
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
              SHA2(`t5`.`named`, 256)
            ) AS `priority`
          FROM (
            SELECT
              `t4`.`unit`,
              `t4`.`level`,
              `t4`.`index_0`,
              `t4`.`size`,
              `t4`.`number`,
              CASE
                WHEN `t4`.`size` > CAST(2 AS BIGINT)
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
                    ROW_NUMBER() OVER (
                      PARTITION BY `t3`.`unit`, `t3`.`level`, `t3`.`index_0`
                      ORDER BY `t3`.`level` ASC NULLS LAST
                    ) - CAST(1 AS BIGINT)
                  ) + CAST(1 AS BIGINT)
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
                            `t1`.`age` * CAST(0.0 AS DOUBLE)
                          ) = CAST(0.0 AS DOUBLE)
                          THEN CASE
                            WHEN `t1`.`age` > CAST(100.0 AS DOUBLE)
                            THEN CAST(100.0 AS DOUBLE)
                            ELSE CASE
                              WHEN `t1`.`age` < CAST(0.0 AS DOUBLE)
                              THEN CAST(0.0 AS DOUBLE)
                              ELSE `t1`.`age`
                            END
                          END
                          ELSE NULL
                        END + CAST(0.5 AS DOUBLE),
                        -CAST(1.0 AS DOUBLE)
                      )
                    ) AS BIGINT) AS `index_0`,
                    CASE
                      WHEN `t1`.`job` = 'nurse'
                      THEN CAST(0 AS BIGINT)
                      ELSE CASE
                        WHEN `t1`.`job` = 'O\'Brien \\ so\n"n"'
                        THEN CAST(1 AS BIGINT)
                        ELSE CASE WHEN `t1`.`job` = 'é' THEN CAST(2 AS BIGINT) ELSE -CAST(1 AS BIGINT) END
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
                        CAST(CAST(`t0`.`job` AS BINARY) AS STRING)
                      ) AS `job`,
                      (
                        CAST(CAST(`t0`.`name` AS BINARY) AS STRING)
                      ) AS `name`
                    FROM `people` AS `t0`
                  ) AS `t1`
                ) AS `t2`
                WHERE
                  `t2`.`known`
                  AND `t2`.`level` >= CAST(0 AS BIGINT)
                  AND `t2`.`index_0` >= CAST(0 AS BIGINT)
              ) AS `t3`
            ) AS `t4`
          ) AS `t5`
        ) AS `t6`
      ) AS `t7`
      WHERE
        (
          `t7`.`size` <= CAST(2 AS BIGINT)
        ) OR (
          `t7`.`place` <= CAST(2 AS BIGINT)
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
        `t2`.`level` * CAST(1 AS BIGINT)
      ) + (
        (
          (
            CASE
              WHEN `t2`.`rows` < CAST(1 AS BIGINT)
              THEN `t2`.`rows`
              ELSE CAST(1 AS BIGINT)
            END - CAST(1 AS BIGINT)
          ) * CAST(1 AS BIGINT)
        ) + CAST(0 AS BIGINT)
      ) AS `key`
    FROM (
      SELECT
        `t1`.`unit`,
        `t1`.`level`,
        COUNT(*) AS `rows`
      FROM (
        SELECT
          `t0`.`person` AS `unit`,
          CAST(0 AS BIGINT) AS `level`,
          CASE WHEN `t0`.`person` IS NULL THEN CAST(0 AS BIGINT) ELSE CAST(0 AS BIGINT) END AS `index`
        FROM `people` AS `t0`
        WHERE
          NOT (
            `t0`.`person` IS NULL
          )
          AND CAST(0 AS BIGINT) >= CAST(0 AS BIGINT)
          AND CASE WHEN `t0`.`person` IS NULL THEN CAST(0 AS BIGINT) ELSE CAST(0 AS BIGINT) END >= CAST(0 AS BIGINT)
      ) AS `t1`
      GROUP BY
        1,
        2
    ) AS `t2`
  ) AS `t3`
  GROUP BY
    1
) AS `t4`;
